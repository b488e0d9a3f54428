"""A prefill and a decode engine together: what is kept, pulled and computed, and what a full pool does."""

import pytest

from sim.engine.active import ActiveRequest
from tests.cluster.pairs import Pair, build_pair, computed, pulls
from tests.engine.helpers import Prompts
from tests.kv.helpers import cached

BOTH = pytest.mark.parametrize("async_scheduling", [False, True])


class TestOneRequest:
    @BOTH
    def test_a_hybrid_decode_engine_computes_one_token(self, async_scheduling: bool) -> None:
        pair = build_pair(60, 60, 800, 3, async_scheduling=async_scheduling)
        request = Prompts(800).request(("a", 2001), output=3)
        pair.run(request)
        leg = pair.legs[request.request_id][0]
        assert computed(pair.prefill, leg) == [1600, 400]
        assert pulls(pair)[request.request_id].blocks_by_group == (1, 1, 1, 3)
        assert (request.local_tokens, request.external_tokens) == (0, 2000)
        assert computed(pair.decode, request) == [1, 1, 1]

    @BOTH
    def test_a_plain_decode_engine_computes_the_last_token_again(self, async_scheduling: bool) -> None:
        pair = build_pair(60, 60, async_scheduling=async_scheduling)
        request = Prompts().request(("a", 100), output=3)
        pair.run(request)
        assert computed(pair.prefill, pair.legs[request.request_id][0]) == [100]
        assert pulls(pair)[request.request_id].blocks_by_group == (7,)
        assert (request.local_tokens, request.external_tokens) == (0, 100)
        assert computed(pair.decode, request) == [1, 1, 1]

    @BOTH
    def test_blocks_stay_until_the_read_is_seen(self, async_scheduling: bool) -> None:
        pair = build_pair(60, 60, pull_steps=5, async_scheduling=async_scheduling)
        request = Prompts().request(("a", 100), output=3)
        pair.add(request)
        held = []
        while not all(side.idle for side in pair.sides):
            pair.tick()
            nixl = pair.prefill.engine.nixl
            assert nixl is not None
            held.append(bool(nixl.held))
            used = pair.prefill.engine.cache.pool.used_blocks
            assert used == 7 or not held[-1]
        # From the tick of the prefill's end: five steps of the pull, the step that sees the notification,
        # and with asynchronous scheduling the one whose output carries it.
        assert held.count(True) == (7 if async_scheduling else 6)

    def test_a_decode_engine_needs_no_checkpoint_for_its_local_hit(self) -> None:
        pair, prompts = build_pair(60, 60, 800, 3), Prompts(800)
        first = prompts.request(("a", 4001), output=3)
        pair.run(first)
        checkpoints = [len(cached(pair.decode.engine.cache.pool, group)) for group in range(4)]
        assert checkpoints == [1, 1, 1, 5]  # 4,000 is a block boundary: the pulled state is one
        second = prompts.request(("a", 3000), ("b", 1001), output=3)
        pair.run(second)
        assert second.local_tokens == 2400
        assert pulls(pair)[second.request_id].blocks_by_group == (1, 1, 1, 2)

    def test_a_prompt_that_is_all_there_is_not_pulled(self) -> None:
        pair, prompts = build_pair(60, 60, 800, 3), Prompts(800)
        pair.run(prompts.request(("a", 1601), output=3))
        again = prompts.request(("a", 1601), output=3)
        pair.run(again)
        assert again.request_id not in pulls(pair)
        assert (again.local_tokens, again.external_tokens) == (1600, 0)
        assert computed(pair.decode, again) == [1, 1, 1]
        assert pair.prefill.engine.cache.pool.used_blocks == 0


class TestExample:
    """One session of 213,000 tokens, five strangers before its third turn; vLLM 0.28.0's own figures."""

    @BOTH
    @pytest.mark.parametrize("offload_first", [False, True])
    def test_turns_of_a_long_session(self, offload_first: bool, async_scheduling: bool) -> None:
        pair = build_pair(
            1634,
            1634,
            800,
            3,
            cpu_blocks=10485,
            offload_first=offload_first,
            async_scheduling=async_scheduling,
        )
        prompts, rows = Prompts(800), []
        parts = [("start", 213_000)]
        for turn in range(3):
            if turn == 2:
                for stranger in range(5):
                    pair.run(prompts.request((f"stranger {stranger}", 213_000), output=8))
            rows.append(self.row(pair, prompts.request(*parts, output=200)))
            parts += [(f"answer {turn}", 200), (f"question {turn}", 1000)]
        assert rows == (
            [
                # prefill: local, external, computed; held, stored; decode: local, external, pulled; peaks
                ((0, 0, 212_999), 348, 347, (0, 212_999, 267), (351, 270)),
                ((212_800, 0, 1_399), 271, 4, (212_800, 1_399, 2), (277, 271)),
                ((0, 213_600, 1_799), 276, 5, (213_600, 1_799, 3), (279, 273)),
            ]
            if async_scheduling
            else [
                ((0, 0, 212_999), 270, 347, (0, 212_999, 267), (273, 270)),
                ((212_800, 0, 1_399), 271, 4, (212_800, 1_399, 2), (274, 271)),
                ((0, 213_600, 1_799), 273, 5, (213_600, 1_799, 3), (276, 273)),
            ]
        )

    def row(self, pair: Pair, request: ActiveRequest) -> tuple[object, ...]:
        for side in pair.sides:
            side.most_blocks = 0
        pair.add(request)
        leg, held = pair.legs[request.request_id][0], 0
        while not all(side.idle for side in pair.sides):
            pair.tick()
            if leg.tables and leg.outputs:
                held = sum(table.held_blocks for table in leg.tables)
        stored = [
            job for plan in pair.prefill.plans for job in plan.stores if job.request_id == leg.request_id
        ]
        return (
            (leg.local_tokens, leg.external_tokens, sum(computed(pair.prefill, leg))),
            held,
            sum(len(job.blocks) for job in stored),
            (request.local_tokens, request.external_tokens, pulls(pair)[leg.request_id].blocks_by_group[-1]),
            (pair.prefill.most_blocks, pair.decode.most_blocks),
        )


@pytest.mark.parametrize(("prompt_only", "external"), [(True, 7200), (False, 8000)])
def test_generated_blocks_that_are_stored_too_hold_a_token_never_computed(
    prompt_only: bool, external: int
) -> None:
    pair = build_pair(24, 60, 800, 3, cpu_blocks=100, prompt_only=prompt_only)
    prompts = Prompts(800)
    for name in "abc":  # b and c take the blocks of a on the GPU
        pair.run(prompts.request((name, 8000)))
    again = prompts.request(("a", 8000), ("d", 1500))
    pair.run(again)
    leg = pair.legs[again.request_id][0]
    assert (leg.local_tokens, leg.external_tokens) == (0, external)


class TestFullDecodePool:
    def overfull(self, role: str, async_scheduling: bool) -> tuple[Pair, ActiveRequest, ActiveRequest]:
        """Two prompts of 3 blocks in a pool of 7; the second request must give way when both need a fifth."""
        pair = build_pair(40, 7, decode_role=role, async_scheduling=async_scheduling)
        prompts = Prompts()
        return pair, prompts.request(("a", 40), output=30), prompts.request(("b", 40), output=30)

    @BOTH
    def test_the_victim_recomputes_prompt_and_answer(self, async_scheduling: bool) -> None:
        pair, first, second = self.overfull("kv_consumer", async_scheduling)
        pair.run(first, second)
        assert (first.preemptions, second.preemptions) == (0, 1)
        # 49 tokens are known when the fourth block is missing; 32 of them are still in the cache.
        assert computed(pair.decode, second) == [1] * 9 + [17] + [1] * 20
        assert (
            len([pull for plan in pair.decode.plans for pull in plan.pulls]) == 2
        )  # nothing is pulled twice

    def test_a_hybrid_victim_has_no_checkpoint_to_start_from(self) -> None:
        pair, prompts = build_pair(80, 14, 800, 3, async_scheduling=False), Prompts(800)
        requests = [prompts.request((name, 3000), output=400) for name in "ab"]
        pair.run(*requests)
        assert [request.preemptions for request in requests] == [0, 1]
        [resumed] = [entry for plan in pair.decode.plans for entry in plan.admitted if entry.resumed]
        assert (resumed.local_tokens, resumed.external_tokens) == (0, 0)
        # 3,201 tokens of prompt and answer: to the end of the attention run that is still cached, to the last
        # block boundary, and the rest
        assert computed(pair.decode, requests[1]) == [1] * 201 + [2400, 800, 1] + [1] * 198

    @pytest.mark.parametrize(("role", "dropped"), [("kv_both", 1), ("kv_consumer", 0)])
    def test_a_producer_drops_the_tokens_of_a_victim_that_are_in_flight(
        self, role: str, dropped: int
    ) -> None:
        pair, first, second = self.overfull(role, async_scheduling=True)
        pair.run(first, second)
        generated = sum(request is second for plan in pair.decode.plans for request in plan.emitting)
        assert generated - second.outputs == dropped * second.preemptions
        assert second.preemptions > 0

    def test_the_prefill_engine_holds_what_the_decode_engine_has_no_room_for(self) -> None:
        pair, prompts = build_pair(40, 7), Prompts()
        for name in "abc":
            pair.add(prompts.request((name, 100), output=8))
        nixl, most = pair.prefill.engine.nixl, 0
        assert nixl is not None
        while not all(side.idle for side in pair.sides):
            pair.tick()
            most = max(most, len(nixl.held))
        assert most == 3  # one is being pulled, two wait

    def test_zero_progress_is_found(self) -> None:
        """Requests that preempt each other in turn, and whose tokens in flight are dropped: for ever."""
        livelocked = {}
        for role in ("kv_both", "kv_consumer"):
            pair, prompts = build_pair(60, 12, decode_role=role), Prompts()
            pair.run(*(prompts.request((name, 47), output=60) for name in "abc"))
            livelocked[role] = pair.livelocked
        assert livelocked == {"kv_both": True, "kv_consumer": False}
