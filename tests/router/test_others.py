"""Other people's routers: their rules, by hand."""

from collections import Counter

import pytest

from sim.router.config import RouterConfig
from sim.router.cost import CostTerms
from sim.router.policies import Surroundings, make_policy
from sim.router.policies.options import ConsistentHashOptions, LlmDOptions, SglangOptions, TwoTierOptions
from sim.router.query import Query
from sim.router.report import WorkerReport
from sim.router.ring import HashRing, place_of

BLANK = CostTerms(*[0] * len(CostTerms._fields))
BLOCK = 16


def terms(*requests, ranks=None, device=(), cost=()):
    """Return candidates with so many requests each, on ranks 0, 1 and so on."""
    there = ranks if ranks is not None else range(len(requests))
    return [
        BLANK._replace(
            rank=rank,
            active_requests=requests[place],
            device_blocks=device[place] if device else 0,
            cost=float(cost[place]) if cost else 0.0,
        )
        for place, rank in enumerate(there)
    ]


def ask(blocks=(), session=None, tail=0):
    return Query(0, len(blocks) * BLOCK + tail or 1, blocks, session=session)


def made(name, ranks=3, report=None, cached=None, said_s=None, **options):
    config = RouterConfig(policy=name, **options)
    return make_policy(config, Surroundings(ranks, BLOCK, report, cached, said_s))


class TestPowerOfTwo:
    def test_every_pair_is_looked_at_equally_often_and_the_emptier_wins(self):
        policy = made("power-of-two")
        # Of 3, pairs 0-1, 1-2 and 2-0: requests 5, 1, 3 give 1, 1, 2.
        counts = Counter(policy(terms(5, 1, 3), ask(), place / 600) for place in range(600))
        assert counts == {1: 400, 2: 200}

    def test_of_equal_ones_the_first_that_was_drawn_is_taken(self):
        policy = made("power-of-two")
        counts = Counter(policy(terms(2, 2, 2), ask(), place / 600) for place in range(600))
        assert counts == {0: 200, 1: 200, 2: 200}
        assert policy(terms(7, ranks=[2]), ask(), 0.99) == 2


class TestVllmDp:
    def said(self, *reports):
        return {"report": lambda rank: reports[rank], "said_s": lambda rank: self.now_s}

    now_s = 0.0

    def test_release_0_10_weighs_waiting_four_times(self):
        # 4 * 1 + 0 = 4, 0 + 5 = 5, 4 * 1 + 1 = 5.
        reports = [WorkerReport(1, 0, 0, 9), WorkerReport(0, 5, 0, 9), WorkerReport(1, 1, 0, 9)]
        policy = made("vllm-dp", vllm_dp={"version": "0.10"}, **self.said(*reports))
        assert policy(terms(0, 0, 0), ask(), 0.5) == 0
        # What was sent there counts as waiting: 8, 5, 5; the first of equal ones; then 8, 9, 5.
        assert policy(terms(0, 0, 0), ask(), 0.5) == 1
        assert policy(terms(0, 0, 0), ask(), 0.5) == 2
        # A new report: what it says replaces what was added.
        self.now_s = 0.1
        assert policy(terms(0, 0, 0), ask(), 0.5) == 0

    def test_release_0_28_takes_the_greater_of_its_own_and_theirs_and_begins_one_further_each_time(self):
        idle = WorkerReport(0, 0, 0, 100)
        policy = made("vllm-dp", **self.said(idle, idle, idle))
        # All are equal but for what was sent: begins at 0, 1, 2, 0.
        assert [policy(terms(0, 0, 0), ask(), 0.0) for _ in range(4)] == [0, 1, 2, 0]
        policy = made("vllm-dp", **self.said(idle, idle, idle))
        assert policy(terms(3, 2, 2), ask(), 0.0) == 1  # max(3, 0), max(2, 0), max(2, 0)
        assert policy(terms(3, 2, 2), ask(), 0.0) == 1  # begins at 1: max(2, 1) = 2 there, and 2 at 2
        assert policy(terms(3, 2, 2), ask(), 0.0) == 2  # begins at 2

    def test_release_0_28_shuns_queues_where_the_pool_is_more_than_half_full(self):
        # 3 + 3 * 6 * (0.75 - 0.5) = 7.5 against 7; at half a pool there is no penalty: 3 against 7.
        tight = [WorkerReport(3, 0, 75, 100), WorkerReport(0, 7, 0, 100)]
        assert made("vllm-dp", 2, **self.said(*tight))(terms(0, 0), ask(), 0.0) == 1
        half = [WorkerReport(3, 0, 50, 100), WorkerReport(0, 7, 0, 100)]
        assert made("vllm-dp", 2, **self.said(*half))(terms(0, 0), ask(), 0.0) == 0

    def test_engines_that_say_nothing_have_what_was_sent(self):
        assert made("vllm-dp")(terms(2, 1, 2), ask(), 0.0) == 1


class TestTwoTier:
    def choose(self, *args, draw=0.0, blocks=10):
        options = TwoTierOptions(balance_abs_threshold=2)
        policy = made("dynamo-two-tier", len(args[0]), two_tier=options)
        return policy(terms(*args[0], device=args[1]), ask(range(blocks)), draw)

    def test_overlap_decides_while_the_load_is_even(self):
        assert self.choose([2, 0, 1], [6, 0, 6]) == 2  # of the two that hold most, the emptier
        assert self.choose([2, 0, 1], [5, 0, 5]) == 1  # half the prompt is not more than half

    def test_load_decides_where_it_is_uneven(self):
        assert self.choose([3, 0, 1], [10, 0, 0]) == 1  # 3 - 0 > 2 and 3 > 1.1 * 0
        assert self.choose([33, 30, 31], [10, 0, 0]) == 0  # 3 > 2, but 33 is not more than 1.1 * 30

    def test_a_partial_block_is_one_of_the_prompt(self):
        policy = made("dynamo-two-tier", 2)
        held = terms(1, 0, device=[1, 0])
        assert policy(held, Query(0, 17, (1,)), 0.0) == 1  # 1 of 2
        assert policy(held, Query(0, 16, (1,)), 0.0) == 0  # 1 of 1

    def test_ties_are_drawn(self):
        assert [self.choose([0, 0, 0], [0, 0, 0], draw=draw) for draw in (0.0, 0.4, 0.9)] == [0, 1, 2]


class TestSglang:
    def policy(self, ranks=3, **options):
        return made("sglang-cache-aware", ranks, sglang=SglangOptions(**options))

    def test_defaults_are_those_of_its_command_line(self):
        assert SglangOptions() == SglangOptions(
            cache_threshold=0.3,
            balance_abs_threshold=64,
            balance_rel_threshold=1.5,
            max_tree_size=2**26,
        )

    def test_more_than_the_threshold_goes_where_it_went_and_the_rest_to_the_shortest_queue(self):
        policy = self.policy(cache_threshold=0.5)
        assert policy(terms(1, 0, 2), ask(range(4)), 0.9) == 1
        # 4 of 7 blocks went to rank 1, 4 of 8 are no more than half.
        assert policy(terms(0, 9, 9), ask([*range(4), 10, 11, 12]), 0.9) == 1
        assert policy(terms(0, 9, 9), ask([*range(4), 20, 21, 22, 23]), 0.9) == 0

    def test_who_had_a_prefix_first_keeps_it(self):
        policy = self.policy(balance_abs_threshold=1, balance_rel_threshold=1.0)
        assert policy(terms(0, 1, 1), ask(range(4)), 0.5) == 0
        # Uneven: 2 - 0 > 1 and 2 > 0. The shortest queue gets it; rank 0 stays the first to have had it.
        assert policy(terms(2, 0, 1), ask(range(4)), 0.5) == 1
        assert policy(terms(1, 1, 1), ask(range(4)), 0.5) == 0

    def test_uneven_needs_both_thresholds(self):
        policy = self.policy(balance_abs_threshold=4, balance_rel_threshold=2.0)
        policy(terms(0, 1, 1), ask(range(4)), 0.5)
        assert policy(terms(8, 4, 4), ask(range(4)), 0.5) == 0  # 8 - 4 is not more than 4
        assert policy(terms(10, 5, 5), ask(range(4)), 0.5) == 0  # 10 is not more than 2 * 5
        assert policy(terms(11, 5, 5), ask(range(4)), 0.5) == 1

    def test_a_rank_that_is_gone_gives_way_to_the_first_that_is_there(self):
        policy = self.policy()
        assert policy(terms(9, 0, 9), ask(range(4)), 0.5) == 1
        assert policy(terms(9, 0, ranks=[0, 2]), ask(range(4)), 0.5) == 0
        assert policy(terms(9, 9, 0), ask(range(4)), 0.5) == 1  # nothing was remembered of rank 0

    def test_beyond_its_size_the_oldest_prompt_is_forgotten(self):
        # Of a rank 10 blocks of 16 tokens with 4 characters.
        policy = self.policy(max_tree_size=640)
        for start in (0, 10):
            assert policy(terms(0, 1, 1), ask(range(start, start + 6)), 0.5) == 0
        assert policy(terms(9, 9, 0), ask(range(6)), 0.5) == 2
        assert policy(terms(9, 9, 0), ask(range(10, 16)), 0.5) == 0


class TestVllmRouterPrefix:
    def test_any_of_those_with_most_of_the_prompt_whatever_the_load(self):
        policy = made("vllm-router-prefix")
        assert policy(terms(0, 0, 0), ask(range(4)), 0.4) == 1
        assert policy(terms(0, 99, 0), ask(range(8)), 0.0) == 1
        assert policy(terms(0, 0, ranks=[0, 2]), ask(range(4)), 0.9) == 2
        # Ranks 1 and 2 had the first four, rank 1 alone the next ones.
        assert [policy(terms(0, 0, 0), ask(range(4)), draw) for draw in (0.0, 0.9)] == [1, 2]
        assert policy(terms(0, 0, 0), ask(range(6)), 0.9) == 1


class TestSession:
    def test_a_session_stays_whatever_the_load_and_moves_alone_when_its_rank_is_gone(self):
        policy = made("vllm-router-session", 4)
        first = {name: policy(terms(0, 0, 0, 0), ask(session=name), 0.0) for name in "abcdefgh"}
        assert {name: policy(terms(9, 5, 0, 7), ask(session=name), 0.7) for name in first} == first
        gone = first["a"]
        left = [rank for rank in range(4) if rank != gone]
        then = {name: policy(terms(0, 0, 0, ranks=left), ask(session=name), 0.0) for name in first}
        assert all(then[name] == rank for name, rank in first.items() if rank != gone)
        assert gone not in then.values()

    def test_without_a_session_it_is_who_had_the_fewest_requests(self):
        policy = made("vllm-router-session")
        assert [policy(terms(9, 0, 0), ask(), 0.5) for _ in range(4)] == [0, 1, 2, 0]


class TestBoundedHash:
    def order(self, session, ranks=3):
        return [*HashRing(ranks, 160).clockwise(place_of(session))]

    def test_who_has_its_share_is_passed_over(self):
        policy = made("consistent-hash-bounded")
        first, second, third = self.order("a")
        loads = [0, 0, 0]
        assert policy(terms(*loads), ask(session="a"), 0.0) == first
        # 8 requests, one more: 1.25 * 9 / 3 = 3.75, so 4 is the most.
        loads[first], loads[second], loads[third] = 3, 3, 2
        assert policy(terms(*loads), ask(session="a"), 0.0) == first
        loads[first], loads[second], loads[third] = 4, 2, 2
        assert policy(terms(*loads), ask(session="a"), 0.0) == second
        loads[first], loads[second], loads[third] = 4, 4, 0
        assert policy(terms(*loads), ask(session="a"), 0.0) == third

    def test_the_factor_is_a_setting(self):
        options = ConsistentHashOptions(load_factor=3.0)
        first, *_ = self.order("a")
        loads = [0, 0, 0]
        loads[first] = 8
        # 3 * 9 / 3 = 9: one may have all of them.
        assert (
            made("consistent-hash-bounded", consistent_hash=options)(terms(*loads), ask(session="a"), 0.0)
            == first
        )

    def test_without_a_session_it_is_spread(self):
        policy = made("consistent-hash-bounded")
        counts = Counter(policy(terms(0, 0, 0), ask(), place / 900) for place in range(900))
        assert all(200 < count < 400 for count in counts.values())

    def test_the_ring_visits_everybody_once(self):
        assert sorted(self.order("x", 5)) == list(range(5))
        assert [*HashRing(1, 1).clockwise(2**64 - 1)] == [0]


class TestLlmD:
    def policy(self, *reports, **weights):
        none = dict.fromkeys(
            ["prefix_weight", "queue_weight", "kv_utilization_weight", "no_hit_lru_weight"], 0.0
        )
        report = (lambda rank: reports[rank]) if reports else None
        return made("llm-d", llm_d=LlmDOptions(**none | weights), report=report)

    def test_weights_are_those_of_llm_d_s_guides(self):
        assert [*LlmDOptions().model_dump().values()] == [3.0, 2.0, 2.0, 2.0]

    def test_each_scorer_by_itself(self):
        reports = [WorkerReport(4, 0, 90, 100), WorkerReport(2, 0, 50, 100), WorkerReport(0, 0, 60, 100)]
        held = terms(0, 0, 0, device=[3, 1, 1])
        assert self.policy(*reports, prefix_weight=1.0)(held, ask(range(4)), 0.9) == 0
        assert self.policy(*reports, queue_weight=1.0)(held, ask(range(4)), 0.0) == 2
        assert self.policy(*reports, kv_utilization_weight=1.0)(held, ask(range(4)), 0.0) == 1

    def test_scores_add_up_by_their_weights(self):
        reports = [WorkerReport(4, 0, 0, 100), WorkerReport(2, 0, 0, 100), WorkerReport(0, 0, 0, 100)]
        held = terms(0, 0, 0, device=[4, 2, 0])
        # prefix 1, 1/2, 0 and queue 0, 1/2, 1: 3 and 2 make 3, 2.5, 2; 2 and 3 make 2, 2.5, 3.
        assert self.policy(*reports, prefix_weight=3.0, queue_weight=2.0)(held, ask(range(4)), 0.5) == 0
        assert self.policy(*reports, prefix_weight=2.0, queue_weight=3.0)(held, ask(range(4)), 0.5) == 2

    def test_cold_requests_go_to_who_had_one_the_longest_ago(self):
        policy = self.policy(no_hit_lru_weight=1.0)
        cold = terms(0, 0, 0)
        assert [policy(cold, ask(range(4)), 0.9) for _ in range(4)] == [0, 1, 2, 0]
        # One that somebody has a block of moves nothing: all are equal, and chance decides.
        warm = terms(0, 0, 0, device=[0, 1, 0])
        assert policy(warm, ask(range(4)), 0.9) == 2
        assert policy(cold, ask(range(4)), 0.9) == 1

    def test_ties_are_drawn(self):
        policy = self.policy(queue_weight=1.0)
        assert [policy(terms(0, 0, 0), ask(), draw) for draw in (0.0, 0.4, 0.9)] == [0, 1, 2]


class TestOracle:
    def test_most_of_the_prompt_then_the_least_cost_then_chance(self):
        policy = made("oracle", cached=lambda query: [32, 48, 48])
        assert policy(terms(0, 0, 0, cost=[1, 9, 8]), ask(range(4)), 0.0) == 2
        equal = terms(0, 0, 0, cost=[1, 9, 9])
        assert [policy(equal, ask(range(4)), draw) for draw in (0.0, 0.9)] == [1, 2]
        assert policy(terms(0, ranks=[0], cost=[1]), ask(range(4)), 0.0) == 0

    def test_without_caches_cost_decides(self):
        assert made("oracle")(terms(0, 0, 0, cost=[3, 1, 2]), ask(range(4)), 0.0) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sglang", {"cache_threshold": 1.1}),
        ("sglang", {"max_tree_size": 0}),
        ("two_tier", {"balance_rel_threshold": 0.5}),
        ("consistent_hash", {"load_factor": 0.99}),
        ("llm_d", {"prefix_weight": -1}),
        ("vllm_dp", {"version": "0.11"}),
    ],
)
def test_settings_have_bounds(key, value):
    with pytest.raises(ValueError, match=key):
        RouterConfig(**{key: value})
