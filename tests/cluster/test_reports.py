"""What workers say of themselves is as old as the way, the interval and the steps make it, and no older."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.router.policies import POLICIES
from sim.router.policies.policy import NamedPolicy
from sim.router.report import WorkerReport
from tests.clusters import Pace, build_cluster, run_cluster, scenario, trace, turn


def probe(seen):
    """Make a policy that takes ranks in turn and notes what it is told of each."""

    def make(config, around):
        def choose(terms, query, draw):
            seen.append([around.report(rank) for rank in range(around.ranks)] if around.report else None)
            return terms[query.request % len(terms)].rank

        return choose

    return NamedPolicy("probe", make, "a test", reads_reports=True)


@pytest.fixture
def seen(monkeypatch):
    found: list[list[WorkerReport]] = []
    monkeypatch.setitem(POLICIES, "probe", probe(found))
    return found


def run(turns, *, law=None, faults=(), engine=None, count=1, **router):
    config = scenario(
        router={"policy": "probe", "report_delay_s": 0.0} | router,
        workers={"count": count},
        engine=engine or {},
        faults=list(faults),
    )
    return run_cluster(config, trace(*turns), law)


def test_a_worker_that_has_put_out_nothing_has_said_nothing(seen):
    # The second request comes while the first is being computed: the step of 1 s ends at 1 s.
    run([turn(0, 20, 3, [1, 2]), turn(0.5, 20, 1, [3, 4], "t")])
    nothing = WorkerReport(0, 0, 0, 101)
    assert seen == [[nothing], [nothing]]


def test_a_report_says_how_it_stood_when_a_step_ended(seen):
    # A: 20 tokens prompt and 3 tokens: steps end at 1, 2, 3; two blocks. At 1.5 the report of 1 s is known.
    # B comes then: it is in the step from 2 to 3 (planned at 1 is the one from 1 to 2).
    run([turn(0, 20, 3, [1, 2]), turn(1.5, 20, 1, [3, 4], "t"), turn(2.5, 9, 1, [5], "u")])
    assert seen[1] == [WorkerReport(0, 1, 2, 101)]
    assert seen[2][0].waiting_requests + seen[2][0].running_requests == 2


def test_what_arrives_at_this_very_instant_is_not_known(seen):
    run([turn(0, 20, 3, [1, 2]), turn(1.0, 9, 1, [5], "t")])
    assert seen[1] == [WorkerReport(0, 0, 0, 101)]


def test_the_end_is_reported(seen):
    run([turn(0, 20, 1, [1, 2]), turn(1.5, 9, 1, [5], "t")])
    assert seen[1] == [WorkerReport(0, 0, 0, 101)]


@pytest.mark.parametrize(("delay_s", "running"), [(0.4, 1), (0.5, 0), (0.6, 0)])
def test_a_report_is_on_its_way(seen, delay_s, running):
    run([turn(0, 20, 3, [1, 2]), turn(1.5, 9, 1, [5], "t")], report_delay_s=delay_s)
    assert seen[1][0].running_requests == running


@pytest.mark.parametrize(("at_s", "running"), [(1.4, 0), (9.9, 0), (10.1, 1), (19.9, 1)])
def test_a_router_that_scrapes_knows_what_was_said_before_its_last_look(seen, at_s, running):
    run(
        [turn(0, 20, 30, [1, 2]), turn(at_s, 9, 1, [5], "t")],
        report_interval_s=10.0,
        engine={"fast_forward": True},
    )
    assert seen[1][0].running_requests == running


def test_a_full_pool_is_reported_as_all_of_its_blocks(seen):
    # vLLM counts without the null block, Dynamo multiplies the share by all blocks: 3 of 3 make 4 of 4.
    run([turn(0, 40, 3, [1, 2, 3]), turn(1.5, 9, 1, [5], "t")], engine={"kv_blocks": 4})
    assert seen[1] == [WorkerReport(0, 1, 4, 4)]


def test_a_worker_that_came_back_has_said_nothing(seen):
    # Killed at 2.5 with one request running, back at 3.5.
    run(
        [turn(0, 20, 30, [1, 2]), turn(2.2, 9, 1, [5], "t"), turn(4.0, 9, 1, [6], "u")],
        faults=[
            {"kind": "worker-dies", "worker": 0, "at_s": 2.5, "back_after_s": 1.0, "detected_after_s": 0.5}
        ],
        count=2,
    )
    assert seen[1][0].running_requests == 1
    assert seen[2][0] == WorkerReport(0, 0, 0, 101)


def test_nobody_writes_down_what_nobody_reads(monkeypatch):
    found: list[list[WorkerReport]] = []
    monkeypatch.setitem(POLICIES, "probe", probe(found)._replace(reads_reports=False))
    cluster = build_cluster(scenario(router={"policy": "probe"}), trace(turn(0, 20, 1, [1, 2])))
    assert cluster.reports is None
    cluster.run()
    assert found == [None]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    delay_s=st.sampled_from([0.0, 0.05, 3.0]),
    interval_s=st.sampled_from([0.0, 0.35, 7.0]),
    kv_blocks=st.sampled_from([13, 101]),
)
def test_fast_forward_makes_no_difference(seed, delay_s, interval_s, kv_blocks):
    random, told = Random(seed), []
    turns = [
        turn(at_s, 60, random.randint(1, 80), [random.randint(1, 4) for _ in range(4)], f"{n}")
        for n, at_s in enumerate(sorted(random.choice([1, 0.37]) * random.randint(0, 90) for _ in range(12)))
    ]
    for fast_forward in (True, False):
        seen: list[list[WorkerReport]] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(POLICIES, "probe", probe(seen))
            run(
                turns,
                law=Pace(0.25, 0.001, 0.0001),
                engine={"fast_forward": fast_forward, "kv_blocks": kv_blocks},
                count=2,
                report_delay_s=delay_s,
                report_interval_s=interval_s,
            )
        told.append(seen)
    assert told[0] == told[1]
