"""NIXL in pull mode: what the prefill engine keeps and offers, what the decode engine reads."""

import pytest

from sim.engine.active import ActiveRequest, RemoteBlocks
from sim.engine.nixl import NixlConnector
from sim.kv.group_spec import even_groups
from sim.kv.hit import NO_HIT
from sim.kv.hybrid import KvCache

HASHES = list(range(100))


def connector(recurrent: int = 3, block_tokens: int = 800) -> NixlConnector:
    cache = KvCache(101, even_groups(block_tokens, recurrent))
    return NixlConnector(cache, producer=True, consumer=True)


def prefill_leg(prompt_tokens: int) -> ActiveRequest:
    request = ActiveRequest(7, prompt_tokens, 1, HASHES)
    request.for_remote = True
    return request


def decode_leg(remote: RemoteBlocks, prompt_tokens: int = 2000) -> ActiveRequest:
    request = ActiveRequest(7, prompt_tokens, 5, HASHES)
    request.remote = remote
    return request


class TestPrefillLeg:
    def test_a_hybrid_prompt_loses_its_last_token_once(self) -> None:
        nixl, request = connector(), prefill_leg(2000)
        assert [nixl.lookup(request, 0), nixl.lookup(request, 800)] == [0, 0]
        assert (request.prompt_tokens, request.hashed_tokens) == (1999, 2000)

    @pytest.mark.parametrize(("recurrent", "prompt"), [(0, 2000), (3, 1)])
    def test_a_plain_prompt_and_a_single_token_stay_whole(self, recurrent: int, prompt: int) -> None:
        nixl, request = connector(recurrent), prefill_leg(prompt)
        nixl.lookup(request, 0)
        assert request.prompt_tokens == prompt

    def test_a_request_that_is_served_here_alone_stays_whole(self) -> None:
        nixl, request = connector(), ActiveRequest(7, 2000, 5, HASHES)
        assert nixl.lookup(request, 0) == 0
        assert request.prompt_tokens == 2000
        assert not nixl.keep(request)

    def test_it_is_kept_until_it_is_released_once(self) -> None:
        nixl, request = connector(), prefill_leg(2000)
        assert nixl.keep(request)
        assert nixl.held == {7: request}
        assert nixl.release(7) is request
        assert nixl.release(7) is None

    def test_all_attention_blocks_and_one_state_a_group_are_offered(self) -> None:
        cache = KvCache(101, even_groups(800, 3))
        nixl, request = NixlConnector(cache, producer=True, consumer=True), prefill_leg(2001)
        nixl.lookup(request, 0)
        cache.admit(request.tables, NO_HIT, 0)
        for end in (800, 1600, 2000):
            cache.extend(request.tables, end)
        assert [table.held_blocks for table in request.tables] == [3, 3, 3, 3]
        assert nixl.offer(request) == RemoteBlocks(2000, (1, 1, 1, 3))


class TestDecodeLeg:
    def test_it_pulls_what_lies_beyond_the_local_hit(self) -> None:
        nixl, request = connector(), decode_leg(RemoteBlocks(1999, (1, 1, 1, 3)))
        assert nixl.lookup(request, 800) == 1199
        pull = nixl.start_pull(request, 800)
        assert pull.request_id == 7
        assert (pull.blocks_by_group, pull.blocks) == ((1, 1, 1, 2), 5)
        assert nixl.lookup(request, 0) == 0  # there is nothing on the other side any more

    def test_a_plain_model_has_no_state_to_pull(self) -> None:
        nixl, request = connector(0, 16), decode_leg(RemoteBlocks(100, (7,)), 100)
        assert nixl.lookup(request, 32) == 68
        assert nixl.start_pull(request, 32).blocks_by_group == (5,)

    def test_asking_alone_gives_nothing_up(self) -> None:
        nixl, request = connector(), decode_leg(RemoteBlocks(1600, (1, 1, 1, 2)), 1601)
        assert [nixl.lookup(request, 1600), nixl.lookup(request, 800)] == [0, 800]
        assert nixl.unneeded == []

    def test_an_admission_that_lacks_nothing_lets_the_other_side_go_once(self) -> None:
        nixl, request = connector(), decode_leg(RemoteBlocks(1600, (1, 1, 1, 2)), 1601)
        nixl.decline(request)
        nixl.decline(request)
        assert (nixl.unneeded, request.remote) == ([7], None)
