"""Free routing of the small run: what chance decides shows in the interval, what it does not has none."""

from sim.measured.run import load_run
from sim.validation.free import Prediction, free
from sim.validation.settings import scenario_of
from tests.measured.small_run import SMALL


def predict(seeds: int, *overrides: str):
    run = load_run(SMALL)
    counted = []
    found = free(run, scenario_of(run, "cpu-agg2", overrides)[0], seeds, lambda: counted.append(1))
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
