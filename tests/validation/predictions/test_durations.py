"""Durations drawn from those of a run."""

from dataclasses import replace

import pytest

from sim.engine.active import ActiveRequest
from sim.measured.run import load_run
from sim.validation.predictions.durations import DrawnTimes, Durations, _Seen, _slope
from sim.validation.replay.recording import Recording, recording
from sim.validation.replay.replay import replay
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL


def small() -> tuple[Recording, Durations]:
    run = load_run(SMALL)
    recorded = recording(run)
    return recorded, Durations(recorded, replay(recorded, scenario_of(run, "cpu-agg2", ())[0], forced=True))


def admitted(index: int, *, prompt: int, hit: int = 0, for_remote: bool = False) -> ActiveRequest:
    found = ActiveRequest(index, prompt, 4, ())
    found.local_tokens, found.for_remote = hit, for_remote
    return found


def test_a_run_tells_times_and_computed_tokens_of_its_requests() -> None:
    recorded, durations = small()
    assert [one.computed_tokens for one in durations.seen] == [40, 40, 54]
    first = durations.seen[0]
    assert first.prompt_s == pytest.approx(recorded.times[0].tokens_s[0])
    assert (first.wait_s, first.token_s) == (0.0, pytest.approx(0.05))


def test_the_power_is_a_slope_by_least_squares() -> None:
    assert _slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) == pytest.approx(2.0)
    assert _slope([(0.0, 1.0), (1.0, 2.0), (2.0, 1.5)]) == pytest.approx(0.25)
    assert _slope([(0.0, 1.0), (1.0, 0.0)]) == 0.0  # no prompt takes longer for being shorter
    assert _slope([(1.0, 5.0)]) == _slope([]) == 0.0


def drawn(seed: int, power: float = 1.0) -> tuple[DrawnTimes, Durations]:
    recorded, durations = small()
    durations.seen = (_Seen(100, 2.0, 0.25, 0.5), _Seen(100, 6.0, 0.25, 0.5))
    durations.power = power
    return DrawnTimes(recorded, durations, seed), durations


def test_a_request_takes_as_long_as_another_did_in_proportion() -> None:
    timing, _ = drawn(0)
    timing.sent(0, 10.0)
    timing.sent(0, 99.0)  # on its way to a second engine
    times = timing.of(admitted(0, prompt=80, hit=30))
    assert times is not None
    first_s = times.first_token_s - 10.25
    assert first_s in (pytest.approx(1.0), pytest.approx(3.0))
    assert times.tokens_s == pytest.approx((times.first_token_s, times.first_token_s + 0.5))
    assert (times.end_s, times.prefilled_s) == (times.tokens_s[-1], None)
    assert timing.of(admitted(0, prompt=80)) is times is timing.known(0)
    assert timing.known(1) is None


def test_a_prefill_leg_ends_before_the_wait_for_the_first_token() -> None:
    timing, _ = drawn(0, power=0.0)
    timing.sent(1, 10.0)
    times = timing.of(admitted(1, prompt=80, for_remote=True))
    assert times is not None
    assert times.prefilled_s is not None
    assert times.prefilled_s - 10.0 in (pytest.approx(2.0), pytest.approx(6.0))
    assert times.first_token_s == pytest.approx(times.prefilled_s + 0.25)


def test_seeds_draw_other_requests() -> None:
    firsts = set()
    for seed in range(20):
        timing, _ = drawn(seed)
        timing.sent(0, 0.0)
        times = timing.of(admitted(0, prompt=100))
        assert times is not None
        firsts.add(round(times.first_token_s, 6))
    assert firsts == {2.25, 6.25}


def test_without_recorded_times_there_is_nothing_to_draw_from() -> None:
    recorded, durations = small()
    durations.seen = ()
    timing = DrawnTimes(replace(recorded, times={}), durations, 0)
    timing.sent(0, 0.0)
    assert timing.of(admitted(0, prompt=80)) is None
