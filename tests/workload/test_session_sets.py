"""Sets of sessions of a trace, and windows of their turns."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sim.workload.load import load_workload
from sim.workload.recorded import Recorded
from sim.workload.request import Answer, Request, Trace
from sim.workload.session_sets import drawn, window_start, windowed
from sim.workload.settings import WorkloadSettings


def request(session: str, turn: int, at_s: float | None, delay_s: float | None = None) -> Request:
    return Request(0, session, turn, at_s, delay_s, 64 * (turn + 1), 8, range(turn + 1))


def trace(*requests: Request, service_s: float = 2.0) -> Trace:
    for index, each in enumerate(requests):
        each.index = index
    return Trace(requests, 64, "t.jsonl", recorded=[Recorded(service_s=service_s)] * len(requests))


def two_sessions() -> Trace:
    """Session a has five turns 10 s apart, of which 2 s are service; session b has three."""
    return trace(
        request("a", 0, 0.0),
        request("b", 0, 5.0),
        request("a", 1, 10.0),
        request("b", 1, 15.0),
        request("a", 2, 20.0, 6.0),
        request("b", 2, 25.0),
        request("a", 3, 30.0),
        request("a", 4, 130.0),
    )


def window(found: Trace, of: str) -> list[tuple[int, int, float | None, float | None]]:
    return [(r.turn, r.prompt_tokens, r.timestamp_s, r.delay_s) for r in found.requests if r.session == of]


def windows(turns: int, of: int | str, factor: float = 1.0, most_s: float = 60.0) -> Trace:
    return windowed(
        two_sessions(), turns=turns, window=of, think_factor=factor, max_think_s=most_s, start_gap_s=0.5
    )


@pytest.mark.parametrize(
    ("of", "turns", "available", "start"),
    [("first", 20, 50, 0), ("middle", 20, 51, 15), (0, 20, 50, 0), (20, 20, 50, 20), (40, 20, 50, 30)],
)
def test_where_a_window_starts(of: int | str, turns: int, available: int, start: int) -> None:
    assert window_start(of, turns, available) == start


def test_a_window_starts_anew_and_keeps_services_and_think_times() -> None:
    found = windows(3, 2)
    # A think time of 6 s is recorded, 8 s are left of a gap of 10 s, 98 s of one of 100 s.
    assert window(found, "a") == [(0, 192, 0.0, None), (1, 256, 10.0, 8.0), (2, 320, 72.0, 60.0)]
    assert window(found, "b") == [(0, 64, 0.5, None), (1, 128, 10.5, 8.0), (2, 192, 20.5, 8.0)]
    assert [r.index for r in found.requests] == list(range(6))
    assert found.notes == ("of each session 3 turns from turn 2 on (0 have fewer)",)
    assert windows(9, "first").notes == ("of each session the first 9 turns (2 have fewer)",)


def test_a_recorded_think_time_comes_before_what_is_left_of_a_gap() -> None:
    assert [think_s for *_, think_s in window(windows(3, 1), "a")] == [None, 6.0, 8.0]


def test_think_times_are_multiplied_then_cut() -> None:
    assert [at_s for *_, at_s, _ in window(windows(3, 2, 0.5, 20.0), "a")] == [0.0, 6.0, 28.0]


def test_without_a_recorded_service_it_is_what_the_recorded_api_would_have_taken() -> None:
    plain = replace(two_sessions(), recorded=())
    found = windowed(plain, turns=2, window=0, think_factor=1.0, max_think_s=60.0, start_gap_s=0.5)
    first, second = (r for r in found.requests if r.session == "a")
    assert (first.timestamp_s, second.timestamp_s) == (0.0, pytest.approx(10.0))


def test_sub_agents_are_left_out_of_windows_and_waited_for_no_longer() -> None:
    whole = trace(request("a", 0, 0.0), request("agent", 0, 1.0), request("a", 1, 10.0))
    whole.requests[1].waits_for = (0,)
    whole.requests[2].waits_for = (0, 1)
    whole.requests[2].answer = Answer(0, 64, 72)
    found = windowed(whole, turns=2, window=0, think_factor=1.0, max_think_s=60.0, start_gap_s=0.5)
    assert [(r.session, r.waits_for, r.answer) for r in found.requests] == [
        ("a", (), None),
        ("a", (0,), Answer(0, 64, 72)),
    ]
    assert found.notes[-1].endswith("; requests of sub-agents left out: 1")


def sessions(n: int) -> Trace:
    return trace(*(request(f"s{i}", turn, float(i + 10 * turn)) for turn in range(2) for i in range(n)))


def names(found: Trace) -> Sequence[str]:
    return found.sessions


def test_a_drawn_order_is_one_of_all_and_smaller_sets_are_part_of_larger_ones() -> None:
    whole = sessions(9)
    orders = {tuple(names(drawn(whole, number, None))) for number in range(1, 6)}
    assert len(orders) == 5
    assert all({*order} == {*whole.sessions} for order in orders)
    assert names(drawn(whole, 3, 4)) == names(drawn(whole, 3, None))[:4]
    assert names(drawn(whole, 0, None)) == whole.sessions


def test_a_session_begins_when_that_did_in_whose_place_it_comes() -> None:
    found = drawn(sessions(5), 2, 3)
    firsts = {r.session: r.timestamp_s for r in found.requests if r.turn == 0}
    assert [*firsts.values()] == [0.0, 1.0, 2.0]
    assert [r.timestamp_s for r in found.requests if r.turn == 1] == [10.0, 11.0, 12.0]
    assert len(found.recorded) == len(found.requests) == 6


def test_a_workload_draws_then_cuts(tmp_path: Path) -> None:
    lines = [
        f'{{"session_id": "s{i}", "timestamp": {1000 * (i + 10 * turn)}, "input_length": {64 * (turn + 1)}, '
        f'"output_length": 1, "hash_ids": {[*range(100 * i, 100 * i + turn + 1)]}}}\n'
        for turn in range(4)
        for i in range(6)
    ]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    given = {"path": "t.jsonl", "chunk_tokens": 64, "sessions": 3, "turns": 2, "window": 2, "session_set": 1}
    found = load_workload(WorkloadSettings.model_validate(given), 0, tmp_path)
    assert len(found.sessions) == 3
    assert sorted(r.prompt_tokens for r in found.requests) == [192] * 3 + [256] * 3
    other = load_workload(WorkloadSettings.model_validate({**given, "session_set": 2}), 0, tmp_path)
    assert other.sessions != found.sessions


def test_a_generated_set_is_that_of_another_seed(tmp_path: Path) -> None:
    given = {"profile": "kct", "sessions": 2, "turns": 3}

    def prompts(seed: int, **more: int) -> list[int]:
        settings = WorkloadSettings.model_validate({**given, **more})
        return [r.prompt_tokens for r in load_workload(settings, seed, tmp_path).requests]

    assert prompts(5, session_set=3) == prompts(3) != prompts(5)
