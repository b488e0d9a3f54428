"""Free routing of the small run: what chance decides shows in the interval, what it does not has none."""

import pytest

from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.predictions.simulated_routing import Prediction, _other_durations, simulated_routing
from sim.validation.replay.recording import recording
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL


def predict(seeds: int, *overrides: str):
    run = load_run(SMALL)
    counted = []
    scenario = scenario_of(run, "cpu-agg2", overrides)[0]
    found = simulated_routing(ValidationCase(run, scenario), seeds, on_seed=lambda: counted.append(1))
    assert len(counted) == found.seeds == seeds
    return found.predictions


def test_round_robin_leaves_nothing_to_chance() -> None:
    found = predict(5, "router.policy=round-robin")
    # Worker 0 gets requests 0 and 2, worker 1 request 1: only block 1 of the latter is computed twice.
    assert found == {
        "recomputed_tokens": Prediction(32, 16.0, 16.0, 16.0),
        "workers_per_session": Prediction(1.5, 1.0, 1.0, 1.0),
    }
    assert [prediction.inside for prediction in found.values()] == [False, False]


def test_chance_is_drawn_anew_with_every_seed() -> None:
    found = predict(40, "router.policy=random")["workers_per_session"]
    # Session a has two requests, on one worker or on two; session b has one.
    assert (found.low, found.high) == (1.0, 1.5)
    assert 1.0 < found.mean < 1.5
    assert found.inside


def test_an_interval_has_its_ends() -> None:
    assert Prediction(2.0, 3.0, 2.0, 4.0).inside
    assert not Prediction(1.9, 3.0, 2.0, 4.0).inside
    assert Prediction(None, 3.0, 2.0, 4.0).inside is None


def test_a_spread_draws_durations_anew_but_sends_at_the_same_times() -> None:
    recorded = recording(load_run(SMALL))
    first, again, other = (_other_durations(recorded, seed, 0.5) for seed in (1, 1, 2))
    assert first.times == again.times != other.times
    assert first.trace is recorded.trace
    for index, request in enumerate(recorded.trace.requests):
        was, drawn = recorded.times[index], first.times[index]
        factor = (drawn.end_s - request.timestamp_s) / (was.end_s - request.timestamp_s)
        assert factor > 0
        assert drawn.tokens_s[0] - request.timestamp_s == pytest.approx(
            factor * (was.tokens_s[0] - request.timestamp_s)
        )
        assert drawn.prefilled_s is None
