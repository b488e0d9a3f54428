"""What hosts do for prompts, by hand: a second a step, and blocks of 16 tokens."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.hardware.hosts import HostSettings
from tests.cluster.test_disaggregated import pair, some_turns
from tests.clusters import Pace, RandomCluster, rows, run_cluster, scenario, trace, turn
from tests.engine.test_decode_run import everything

A_QUARTER = 1 / 64
"""A prompt of 16 tokens takes 0.25 s, one of 32 tokens 0.5 s."""
STEP_BY_STEP = {"async_scheduling": False}


def gaps(cluster):
    """Every gap between tokens, and how often it was."""
    return {round(gap_s, 9): n for gap_s, n in cluster.recorder.itl_s.rounded(40)}


def two(workers, engine=None, **hosts):
    """A request of 5 tokens, and one of 2 tokens while it decodes, on the next worker if there is one."""
    settings = scenario(
        workers={"count": workers}, router={"policy": "round-robin"}, engine=engine or {}, hosts=hosts
    )
    first, second = turn(0.0, 16, 5, [1], "a"), turn(2.0, 32, 2, [2, 3], "b")
    return run_cluster(settings, trace(first, second))


def column(cluster, name):
    return [row[name] for row in sorted(rows(cluster), key=lambda row: row["index"])]


# -- the client ---------------------------------------------------------------------------------------------


def test_a_prompt_reaches_the_router_when_it_was_posted():
    cluster = two(2, client_s_per_token=A_QUARTER)
    assert column(cluster, "send_s") == [0.0, 2.0]
    assert column(cluster, "routed_s") == [0.25, 2.5]
    assert column(cluster, "ttft_s") == [1.25, 1.5]


def test_a_client_that_posts_reads_no_stream_of_the_run():
    """The token of 2.25 s is read at 2.5 s, though another worker serves the prompt that was posted."""
    cluster = two(2, client_s_per_token=A_QUARTER)
    assert gaps(cluster) == {0.75: 1, 1.0: 3, 1.25: 1}
    assert column(cluster, "end_s") == [5.25, 4.5]


def test_prompts_are_posted_one_after_another():
    settings = scenario(hosts={"client_s_per_token": A_QUARTER})
    cluster = run_cluster(settings, trace(*(turn(0.0, 32, 1, [n, n + 1], str(n)) for n in (1, 3, 5))))
    assert column(cluster, "routed_s") == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("second_s", [4.9, 5.25])
def test_an_end_is_read_when_the_prompts_before_it_are_posted(second_s):
    """A turn waits for the answer of 5.25 s; a prompt that comes at that instant does not keep it."""
    settings = scenario(hosts={"client_s_per_token": A_QUARTER}, replay={"client": "turn-dependent"})
    requests = trace(
        turn(0.0, 16, 5, [1], "a"),
        turn(second_s, 32, 1, [2, 3], "b"),
        turn(6.0, 16, 1, [1], "a", delay_s=0.0),
    )
    read_s = 5.4 if second_s < 5 else 5.25
    cluster = run_cluster(settings, requests)
    assert column(cluster, "end_s")[0] == pytest.approx(read_s)
    assert column(cluster, "send_s")[2] == pytest.approx(read_s)
    assert sum(gaps(cluster).values()) == 4


def test_what_a_client_gave_up_before_it_read_it_was_not_answered():
    """The first token is there at 1.25 s, but the client posts from 1.2 to 1.7 s and gives up at 1.5 s."""
    settings = scenario(
        hosts={"client_s_per_token": A_QUARTER},
        faults=[{"kind": "clients-cancel", "at_s": 0.0, "after_s": 1.5, "sessions": ["a"]}],
    )
    cluster = run_cluster(settings, trace(turn(0.0, 16, 5, [1], "a"), turn(1.2, 32, 1, [2, 3], "b")))
    first = rows(cluster)[0]
    assert (first["status"], first["end_s"], first["first_token_s"]) == ("cancelled", 1.5, None)


# -- the process in front of an engine ----------------------------------------------------------------------


def test_a_process_that_hands_a_prompt_over_passes_no_token_of_its_worker_on():
    """The prompt comes at 2 s and is with the engine at 2.5 s; the token of 2.25 s leaves it then."""
    cluster = two(1, relay_s_per_token=A_QUARTER)
    assert column(cluster, "queued_s") == [0.25, 2.5]
    assert column(cluster, "first_token_s") == [1.25, 5.25]
    assert gaps(cluster) == {0.75: 1, 1.0: 3, 1.25: 1}


def test_other_workers_pass_theirs_on():
    cluster = two(2, relay_s_per_token=A_QUARTER)
    assert column(cluster, "first_token_s") == [1.25, 3.5]
    assert gaps(cluster) == {1.0: 5}


@pytest.mark.parametrize(
    ("coalesce", "expected"),
    [(False, {0.0: 1, 0.75: 1, 1.0: 2, 2.25: 1}), (True, {0.75: 1, 1.0: 2, 2.25: 1})],
)
def test_tokens_that_wait_for_a_process_leave_it_as_one_chunk(coalesce, expected):
    """96 tokens take 1.5 s, from 2 s on: the tokens of 2.25 s and 3.25 s are passed on at 3.5 s."""
    settings = scenario(workers={"count": 1}, hosts={"relay_s_per_token": A_QUARTER, "coalesce": coalesce})
    requests = trace(turn(0.0, 16, 6, [1], "a"), turn(2.0, 96, 1, range(2, 8), "b"))
    assert gaps(run_cluster(settings, requests)) == expected


def test_chunks_are_not_joined_by_a_client_that_reads_them_late():
    settings = scenario(
        workers={"count": 2},
        router={"policy": "round-robin"},
        hosts={"client_s_per_token": A_QUARTER, "coalesce": True},
    )
    requests = trace(turn(0.0, 16, 6, [1], "a"), turn(2.0, 96, 1, range(2, 8), "b"))
    assert gaps(run_cluster(settings, requests)) == {0.0: 1, 0.75: 1, 1.0: 2, 2.25: 1}


# -- the engine's loop --------------------------------------------------------------------------------------


def test_a_loop_that_admits_a_prompt_begins_no_step():
    """Step by step: planned at 2.25 s, the step with the second prompt begins at 2.75 s for both."""
    cluster = two(1, STEP_BY_STEP, admit_s_per_token=A_QUARTER)
    assert column(cluster, "first_token_s") == [1.25, 3.75]
    assert gaps(cluster) == {1.0: 4, 1.5: 1}


def test_what_is_computed_meanwhile_hides_it():
    """Planned at 2.25 s, a step ahead: the loop is done at 2.75 s, the step before it ends at 3.25 s."""
    cluster = two(1, admit_s_per_token=A_QUARTER)
    assert column(cluster, "first_token_s") == [1.25, 4.25]
    assert gaps(cluster) == {1.0: 5}


def test_an_output_waits_for_the_loop_too():
    """1.5 s from 2.75 s on: the output of 3.75 s is processed at 4.25 s, when the next step begins."""
    cluster = two(1, admit_s_per_token=3 * A_QUARTER)
    assert column(cluster, "first_token_s") == [1.75, 5.25]
    assert gaps(cluster) == {1.0: 4, 1.5: 1}


def pulled(requests, prefill=1, **hosts):
    settings = pair(prefill=prefill).model_copy(update={"hosts": HostSettings(**hosts)})
    return run_cluster(settings, trace(*requests))


def about(*times_s):
    """So many bytes as here take less than 10 us on the link."""
    return pytest.approx(times_s, abs=1e-5)


def test_a_loop_posts_the_descriptors_of_a_pull_in_place_of_the_link():
    """3 blocks of one layer: 0.75 s from 1 s on, then 0.25 s on the link, and a second a token."""
    cluster = pulled([turn(0.0, 33, 3, (1, 2, 3))], post_s_per_descriptor=0.25)
    (row,) = rows(cluster)
    found = [row[name] for name in ("pull_start_s", "pull_end_s", "first_token_s", "end_s")]
    assert found == about(1.0, 2.0, 3.0, 5.0)


def test_reads_of_one_step_are_posted_one_after_another():
    """Both are asked for at 1 s: posted at 1.75 and 2.5 s."""
    requests = [turn(0.0, 33, 1, range(first, first + 3), str(first)) for first in (1, 11)]
    cluster = pulled(requests, prefill=2, post_s_per_descriptor=0.25)
    assert sorted(column(cluster, "pull_end_s")) == about(2.0, 2.75)


def test_a_loop_that_posts_stops_the_streams_of_its_worker():
    """A pull is posted from 3.75 to 5.25 s: the output of 4.75 s and the next step wait for that."""
    requests = [turn(0.0, 33, 8, (1, 2, 3), "a"), turn(2.25, 33, 1, (11, 12, 13), "b")]
    cluster = pulled(requests, post_s_per_descriptor=0.5)
    assert column(cluster, "first_token_s") == about(3.75, 8.25)
    found = sorted(gaps(cluster).items())
    assert [n for _, n in found] == [6, 1]
    assert [gap_s for gap_s, _ in found] == about(1.0, 1.5)


def test_links_take_the_time_of_descriptors_unless_a_loop_does():
    (row,) = rows(pulled([turn(0.0, 33, 1, (1, 2, 3))]))
    assert row["pull_end_s"] == pytest.approx(1.25, abs=1e-5)


def test_the_first_step_of_a_prompt_that_was_pulled_takes_longer():
    """Pulled at 1.25 s: its first step takes 1.5 s, all others one."""
    cluster = pulled([turn(0.0, 33, 3, (1, 2, 3))], handoff_step_s=0.5)
    (row,) = rows(cluster)
    assert [row["first_token_s"], row["end_s"]] == about(2.75, 4.75)


def test_no_step_of_an_aggregated_worker_is_the_first_after_a_pull():
    assert gaps(two(1, handoff_step_s=0.5, post_s_per_descriptor=0.5)) == {1.0: 5}


# -- together -----------------------------------------------------------------------------------------------


def test_what_takes_no_time_changes_nothing():
    requests = some_turns(3)
    plain, coalescing = (
        run_cluster(pair().model_copy(update={"hosts": HostSettings(coalesce=c)}), requests)
        for c in (False, True)
    )
    assert everything(plain) == everything(coalescing)


times = st.sampled_from([0.0, 1e-4, 0.003, 0.05])
host_settings = st.builds(
    HostSettings,
    client_s_per_token=times,
    relay_s_per_token=times,
    admit_s_per_token=times,
    post_s_per_descriptor=times,
    handoff_step_s=times,
    coalesce=st.booleans(),
)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), hosts=host_settings)
@pytest.mark.slow
def test_fast_forward_changes_nothing(*, seed, hosts):
    cluster = RandomCluster(Random(seed))
    cluster.scenario = cluster.scenario.model_copy(update={"hosts": hosts})
    assert everything(cluster.run(fast_forward=True)) == everything(cluster.run(fast_forward=False))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), hosts=host_settings, sync=st.booleans())
@pytest.mark.slow
def test_fast_forward_changes_nothing_where_prompts_are_pulled(*, seed, hosts, sync):
    def run(fast_forward):
        engine = {"kv_blocks": 60, "async_scheduling": not sync, "fast_forward": fast_forward}
        settings = pair(prefill=2, decode=2, engine=engine).model_copy(update={"hosts": hosts})
        return everything(run_cluster(settings, some_turns(seed), Pace(step_s=0.03, token_s=0.001)))

    assert run(True) == run(False)
