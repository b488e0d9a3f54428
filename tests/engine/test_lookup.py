"""What a waiting request finds: whom the look-up asks, and with how many tokens."""

import pytest

from sim.engine.active import ActiveRequest, RemoteBlocks, Status
from sim.engine.connector import OffloadingConnector
from sim.engine.lookup import EngineDiedError, Lookup
from sim.engine.nixl import NixlConnector
from sim.kv.group_spec import even_groups
from sim.kv.groups import Table
from sim.kv.hit import NO_HIT
from sim.kv.hybrid import KvCache
from sim.kv.offload import LruTier
from tests.cluster.pairs import build_pair
from tests.engine.helpers import Prompts
from tests.kv.helpers import forget

HASHES = list(range(100))


def engine_parts() -> tuple[KvCache, OffloadingConnector, NixlConnector]:
    cache = KvCache(101, even_groups(800, 3))
    return (
        cache,
        OffloadingConnector(cache, [LruTier(50)]),
        NixlConnector(cache, producer=True, consumer=True),
    )


def fill(cache: KvCache, *ends: int) -> None:
    """Leave a cold prefill of HASHES behind, in chunks that end there."""
    tables: list[Table] = []
    cache.admit(tables, NO_HIT, 0)
    for end in ends:
        cache.extend(tables, end)
        cache.register(tables, HASHES, end)
    cache.free(tables)
    cache.begin_step()


class TestChildren:
    """MultiConnector: both are asked, in order; the first that has anything brings it."""

    @pytest.mark.parametrize(("offload_first", "prompt_tokens"), [(True, 2401), (False, 2400)])
    def test_one_that_must_be_asked_again_ends_the_round(
        self, offload_first: bool, prompt_tokens: int
    ) -> None:
        cache, offload, nixl = engine_parts()
        lookup = Lookup(cache, offload, nixl, offload_first=offload_first, dies_on_full_hit=False)
        request = ActiveRequest(0, 2401, 1, HASHES)
        request.for_remote = True
        tier = offload.tier
        assert tier.store([(block, group) for group in range(4) for block in HASHES[:3]]) is not None
        assert lookup.find(request)[1] is None  # its keys are being written
        assert request.prompt_tokens == prompt_tokens  # taken off only once NIXL is asked

    @pytest.mark.parametrize(("offload_first", "external"), [(True, 2400), (False, 1600)])
    def test_who_is_first_decides_whether_the_last_token_counts(
        self, offload_first: bool, external: int
    ) -> None:
        cache, offload, nixl = engine_parts()
        lookup = Lookup(cache, offload, nixl, offload_first=offload_first, dies_on_full_hit=False)
        request = ActiveRequest(0, 2401, 1, HASHES)
        request.for_remote = True
        keys = [(block, group) for group in range(4) for block in HASHES[:3]]
        offload.tier.store(keys)
        offload.tier.stored(keys)
        hit, found = lookup.find(request)
        assert (hit.tokens, found, request.num_tokens) == (0, external, 2400)


class TestLocalHit:
    """A run of attention blocks without a state is a hit only if the state is pulled."""

    def decode_leg(self) -> ActiveRequest:
        request = ActiveRequest(0, 4001, 5, HASHES)
        request.remote = RemoteBlocks(4000, (1, 1, 1, 5))
        return request

    def test_nixl_alone_brings_it(self) -> None:
        cache, _, nixl = engine_parts()
        fill(cache, 800, 3200)
        forget(cache.pool, HASHES[3], 0)  # one of the states at 3,200
        lookup = Lookup(cache, None, nixl, offload_first=False, dies_on_full_hit=False)
        request = self.decode_leg()
        hit, external = lookup.find(request)
        assert (hit.tokens, external, request.boundary_tokens) == (3200, 800, 0)
        request.remote = None
        hit, external = lookup.find(request)
        assert (hit.tokens, external, request.boundary_tokens) == (800, 0, 3200)

    def test_beside_an_offload_connector_hits_need_their_state(self) -> None:
        cache, offload, nixl = engine_parts()
        fill(cache, 800, 3200)
        forget(cache.pool, HASHES[3], 0)
        lookup = Lookup(cache, offload, nixl, offload_first=False, dies_on_full_hit=False)
        hit, external = lookup.find(self.decode_leg())
        assert (hit.tokens, external) == (800, 3200)


class TestWithoutTheLastToken:
    """The prompt is looked up whole at first, and without its last token from then on."""

    def test_a_prompt_one_token_longer_than_the_boundary_is_hit_less_when_tried_again(self) -> None:
        pair, prompts = build_pair(60, 60, 800, 3, max_num_batched_tokens=800), Prompts(800)
        pair.run(prompts.request(("a", 2400)))
        lookup = pair.prefill.engine.scheduler.lookup
        leg = ActiveRequest(99, 1601, 1, prompts.hashes(("a", 1601)))
        leg.for_remote = True
        cache = pair.prefill.engine.cache
        assert cache.lookup(leg.block_ids, leg.num_tokens).tokens == 1600
        assert lookup.find(leg)[0].tokens == 800  # all was hit: a block less, and counted
        assert lookup.find(leg)[0].tokens == 800  # 1,600 tokens now: nothing to count
        assert lookup.nothing_left == 1

    def test_a_run_without_a_checkpoint_is_measured_without_the_last_token(self) -> None:
        pair, prompts = build_pair(60, 60, 800, 3, max_num_batched_tokens=8192), Prompts(800)
        pair.run(prompts.request(("a", 4801)))  # its only checkpoint is at 4,800
        leg = ActiveRequest(99, 2401, 1, prompts.hashes(("a", 2401)))
        leg.for_remote = True
        hit, _ = pair.prefill.engine.scheduler.lookup.find(leg)
        assert (hit.tokens, leg.boundary_tokens) == (0, 1600)


class TestNothingLeft:
    """A hybrid prompt of whole blocks and one token, sent again: taken off is all there was to compute."""

    @pytest.mark.parametrize("cpu_blocks", [0, 50])
    @pytest.mark.parametrize("offload_first", [False, True])
    def test_the_engine_dies_of_it(self, cpu_blocks: int, offload_first: bool) -> None:
        pair = build_pair(
            60, 60, 800, 3, cpu_blocks=cpu_blocks, offload_first=offload_first, vllm_0_28_faults=True
        )
        prompts = Prompts(800)
        pair.run(prompts.request(("a", 1601)))
        with pytest.raises(EngineDiedError):
            pair.run(prompts.request(("a", 1601)))

    def test_a_dead_engine_still_knows_those_it_had_passed_over(self) -> None:
        pair = build_pair(60, 60, 800, 3, cpu_blocks=50, vllm_0_28_faults=True)
        prompts, engine = Prompts(800), pair.prefill.engine
        pair.run(prompts.request(("a", 1601)))
        passed = prompts.request(("b", 900))
        passed.status, passed.in_flight = Status.PREEMPTED, 1
        engine.add(passed)
        fatal = prompts.request(("a", 1601))
        pair.add(fatal)
        with pytest.raises(EngineDiedError):
            engine.schedule()
        assert engine.requests == [passed, pair.legs[fatal.request_id][0]]

    def test_or_it_is_counted_and_a_block_less_is_hit(self) -> None:
        pair, prompts = build_pair(60, 60, 800, 3, max_num_batched_tokens=800), Prompts(800)
        pair.run(prompts.request(("a", 1601)))
        again = prompts.request(("a", 1601))
        pair.run(again)
        leg = pair.legs[again.request_id][0]
        assert pair.prefill.engine.scheduler.lookup.nothing_left == 1
        assert (leg.prompt_tokens, leg.local_tokens) == (1600, 800)

    @pytest.mark.parametrize("prompt", [1600, 1602])
    def test_a_token_more_or_less_is_no_danger(self, prompt: int) -> None:
        pair, prompts = (
            build_pair(60, 60, 800, 3, max_num_batched_tokens=800, vllm_0_28_faults=True),
            Prompts(800),
        )
        pair.run(prompts.request(("a", prompt)))
        again = prompts.request(("a", prompt))
        pair.run(again)
        assert pair.legs[again.request_id][0].local_tokens == (prompt - 2) // 800 * 800

    def test_a_plain_prompt_is_never_truncated(self) -> None:
        pair, prompts = build_pair(60, 60, vllm_0_28_faults=True), Prompts()
        pair.run(prompts.request(("a", 33)))
        again = prompts.request(("a", 33))
        pair.run(again)
        assert pair.legs[again.request_id][0].local_tokens == 32
