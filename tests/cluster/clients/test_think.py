"""Think times, stretched and cut: who leaves when, by hand."""

from tests.cluster.clients.by_hand import replay, trace

ONE = trace(("a", 0.0, None), ("a", None, 100.0), ("a", None, 3.0))


def test_think_times_are_multiplied_then_cut() -> None:
    """100 s become 50 s become 20 s; 3 s become 1.5 s."""
    log, played = replay(ONE, 1.0, client="turn-dependent", think_factor=0.5, max_think_s=20)
    assert log == [("a0", 0.0), ("a1", 21.0), ("a2", 23.5)]
    assert played.notes == [
        "think times of the trace multiplied by 0.5",
        "think times cut to replay.max_think_s = 20 s: 1, by 30.0 s together",
    ]


def test_a_think_time_of_exactly_the_longest_is_not_cut() -> None:
    log, played = replay(ONE, 1.0, client="turn-dependent", max_think_s=100)
    assert log == [("a0", 0.0), ("a1", 101.0), ("a2", 105.0)]
    assert played.notes == []


def test_timestamps_behind_a_wait_that_was_cut_come_earlier_by_as_much() -> None:
    """a1 would leave at 1,000: 990 s after the answer, cut to 60, at 70. The 20 s to a2 are kept, of which 10
    are service. b is another session, and keeps its times."""
    rows = trace(
        ("a", 0.0, None), ("b", 2.0, None), ("b", 50.0, None), ("a", 1000.0, None), ("a", 1020.0, None)
    )
    log, played = replay(rows, 10.0, client="turn-dependent", max_think_s=60)
    assert log == [("a0", 0.0), ("b0", 2.0), ("b1", 50.0), ("a1", 70.0), ("a2", 90.0)]
    assert played.notes == ["think times cut to replay.max_think_s = 60 s: 1, by 930 s together"]


def test_the_wait_for_sub_agents_is_no_think_time() -> None:
    rows = trace(("a", 0.0, None), ("b", None, 0.0, [0]), ("a", None, 5.0, [1]))
    log, _ = replay(
        rows, lambda r: 500.0 if r.session == "b" else 1.0, client="turn-dependent", max_think_s=60
    )
    assert log == [("a0", 0.0), ("b0", 1.0), ("a1", 506.0)]
