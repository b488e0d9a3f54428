"""The host tier under both releases: jobs, progress, recency; blocks of 16 or 800."""

import pytest

from sim.engine.rules.sync_loads import SyncLoads
from sim.kv.access import Access
from sim.kv.request_order import RankedTier, RequestArcTier, tier_class
from tests.engine.helpers import Prompts
from tests.engine.rules.helpers import build

SMALL = {"max_num_batched_tokens": 128}


def key(number: int, group: int = 0) -> tuple[int, int]:
    return number, group


def ready(tier: RankedTier | RequestArcTier, access: Access, *numbers: int) -> None:
    """Store keys for a request, the first of them at the head of its prompt."""
    keys = [key(number) for number in numbers]
    fresh = access.unseen(keys)
    access.see({key(number): place * 16 for place, number in enumerate(numbers, 1)})
    tier.missed(keys)
    tier.accessed(access, fresh)
    tier.stores_for = access
    room = tier.store(keys)
    tier.stores_for = None
    assert room is not None
    access.inserted.update(room[0])
    tier.stored(room[0])


class TestJobs:
    @pytest.mark.parametrize(
        ("version", "jobs"),
        [
            ("0.28", [[1, 1, 1, 10], [1, 1, 1, 1]]),
            ("0.33", [[0, 0, 0, 10], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        ],
    )
    def test_states_are_stored_by_themselves_and_only_those_kept_since_0_33(
        self, version: str, jobs: list[list[int]]
    ) -> None:
        """A prompt of 9,000: chunks of 8,000, 800 and 200; of the states 0.33 keeps that at 8,800."""
        driver, prompts = build(version, 100, 800, 3, cpu_blocks=100), Prompts(800)
        driver.engine.add(prompts.request(("a", 9000)))
        stores = [job.blocks_by_group(4) for plan in driver.run() for job in plan.stores]
        assert stores == jobs

    def test_a_state_that_finds_no_room_is_lost_and_attention_tries_again(self) -> None:
        driver, prompts = build("0.33", 100, 800, 3, cpu_blocks=2), Prompts(800)
        driver.engine.add(prompts.request(("a", 1700), output=5))
        stores = [job.blocks_by_group(4) for plan in driver.run() for job in plan.stores]
        # Two states fill it and the third is lost; the attention blocks take their places when they are idle.
        assert stores == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 2]]


class TestOrder:
    def test_inside_a_request_the_tail_goes_first(self) -> None:
        tier = RankedTier(4)
        ready(tier, Access(), 1, 2, 3, 4)
        assert tier.store([key(10), key(11)]) == ([key(10), key(11)], [key(4), key(3)])

    def test_when_a_request_has_ended_its_head_is_the_most_recent(self) -> None:
        tier, first, second = RankedTier(4), Access(), Access()
        ready(tier, first, 1, 2)
        ready(tier, second, 5, 6)
        tier.settled(first)
        assert tier.store([key(10)]) == ([key(10)], [key(6)])
        assert tier.store([key(11), key(12)]) == ([key(11), key(12)], [key(5), key(2)])

    def test_being_read_does_not_make_a_key_recent(self) -> None:
        tier = RankedTier(3)
        ready(tier, Access(), 1)
        ready(tier, Access(), 2)
        tier.load([key(1)])
        assert tier.store([key(10), key(11)]) == ([key(10), key(11)], [key(2)])
        tier.loaded([key(1)])
        assert tier.store([key(12)]) == ([key(12)], [key(1)])

    def test_of_one_place_the_lowest_group_goes_first(self) -> None:
        tier, access = RankedTier(2), Access()
        keys = [key(1, 1), key(1, 0)]
        access.see(dict.fromkeys(keys, 16))
        tier.stores_for = access
        tier.store(keys)
        tier.stores_for = None
        tier.stored(keys)
        assert tier.store([key(9)]) == ([key(9)], [key(1, 0)])

    def test_without_enough_idle_keys_nothing_changes(self) -> None:
        tier = RankedTier(3)
        ready(tier, Access(), 1, 2, 3)
        tier.load([key(2)])
        assert tier.store([key(10), key(11), key(12)]) is None
        assert tier.store([key(10), key(3)]) == ([key(10)], [key(1)])  # 3 is of the call itself

    def test_arc_counts_a_request_once_and_only_what_it_reused_becomes_frequent(self) -> None:
        tier, access = RequestArcTier(3), Access()
        ready(tier, access, 1, 2)
        other = Access()
        other.see({key(1): 16})
        other.reuse([key(1)])
        tier.settled(access)  # 2 before 1, both still recent
        tier.settled(other)  # 1 becomes frequent
        ready(tier, Access(), 3)
        assert tier.store([key(4), key(5)]) == ([key(4), key(5)], [key(2), key(3)])

    def test_arc_asks_the_recent_keys_once_more_when_the_frequent_ones_have_none(self) -> None:
        for by_request, evicted in ((False, None), (True, [key(1)])):
            tier = tier_class("arc", by_request=by_request)(1)
            tier.store([key(1)])
            tier.stored([key(1)])
            tier._target = 2.0  # more than are recent: the frequent ones go first, and there are none
            room = tier.store([key(2)])
            assert (room[1] if room is not None else None) == evicted


class TestProgress:
    @pytest.mark.parametrize(("version", "tokens"), [("0.28", 48), ("0.33", 32)])
    def test_the_last_token_of_an_answer_is_not_stored_since_0_33(self, version: str, tokens: int) -> None:
        """31 tokens and an answer of 17: the third block is full with the last one, which has no slot."""
        driver, prompts = build(version, 50, cpu_blocks=50, prompt_only=False, **SMALL), Prompts()
        driver.engine.add(prompts.request(("a", 31), output=17))
        driver.run()
        assert driver.engine.offload is not None
        assert driver.engine.offload.tier.used_blocks * 16 == tokens


class TestLoadsWithinAStep:
    def loads(self, budget_bytes: int) -> tuple[list[int], list[int]]:
        """Return which jobs are loaded, and which of them within their step, when a prompt comes again."""
        driver = build("0.33", 8, cpu_blocks=50, sync_loads=SyncLoads(budget_bytes, 10), **SMALL)
        prompts = Prompts()
        for content in ("a", "b", "a"):
            driver.engine.add(prompts.request((content, 100)))
            plans = driver.run()
        loads = [job.job_id for plan in plans for job in plan.loads]
        return loads, [job for plan in plans for job in plan.loads_now]

    def test_a_hit_within_the_budget_is_loaded_before_its_step_is_computed(self) -> None:
        loads, now = self.loads(800)  # 80 tokens of 10 bytes: the first block is in GPU memory still
        assert loads == now
        assert len(loads) == 1

    def test_one_beyond_it_is_waited_for(self) -> None:
        loads, now = self.loads(799)
        assert (len(loads), now) == (1, [])

    def test_what_was_taken_stays_taken_until_the_step_ends(self) -> None:
        budget = SyncLoads(100, 1)
        budget.found(1, 60, 100)
        budget.found(2, 60, 100)
        assert (budget.takes(1), budget.takes(2)) == (True, False)
        budget.begin_step()
        budget.found(2, 60, 100)
        assert (budget.takes(1), budget.takes(2)) == (False, True)

    def test_a_token_must_be_left_to_compute(self) -> None:
        budget = SyncLoads(100, 1)
        budget.found(1, 60, 60)
        assert not budget.takes(1)
