"""Everything simulated: the small run with a law whose times can be worked out by hand."""

import json
from pathlib import Path

import pytest

from sim.measured.run import load_run
from sim.scenario.scenario import Scenario
from sim.validation.case import ValidationCase
from sim.validation.predictions.fit import Fitted
from sim.validation.predictions.full_simulation import Timed, full_simulation
from sim.validation.predictions.simulated_routing import Prediction
from sim.validation.replay.client import as_the_client_would
from sim.validation.replay.recording import recording
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL, bench, copy

LAW = (
    "timing.t_floor_s=10ms",
    "timing.c_tok_s_per_token=1ms",
    "timing.smooth_max_p=1",
    *(f"timing.{name}=0" for name in ("a_pair_s", "c_kv_s_per_token", "c_seq_s", "c_pf_s", "c_step_s")),
)
"""A step takes 10 ms and 1 ms a token; the way to a worker takes 1 ms."""


def scenario(*overrides: str, folder: Path = SMALL) -> Scenario:
    return scenario_of(load_run(folder), "cpu-agg2", (*LAW, *overrides))[0]


def predict(seeds: int, *overrides: str, fitted: Fitted | None = None) -> Timed:
    return full_simulation(ValidationCase(load_run(SMALL), scenario(*overrides)), seeds, fitted)


def limited(folder: Path) -> Path:
    """Copy the small run as if its client had kept one request in flight at most."""
    return copy(folder, bench_json=json.dumps(bench() | {"max_concurrency": 1}))


def test_times_are_those_of_the_law() -> None:
    found = predict(3, "router.policy=round-robin").predictions
    # Worker 0 computes 40 tokens, then 70 less the 32 that it has; worker 1 computes 40.
    ttft_s = (0.001 + 0.050, 0.001 + 0.048, 0.001 + 0.050)
    assert found["ttft_s.p50"] == Prediction(0.2, *[pytest.approx(sorted(ttft_s)[1])] * 3)
    assert found["itl_s.p50"].mean == pytest.approx(0.011)
    assert found["e2e_s.p50"].mean == pytest.approx(0.062)
    # Block 1 of request 1.
    assert found["recomputed_tokens"] == Prediction(32, 16.0, 16.0, 16.0)
    assert found["workers_per_session"] == Prediction(1.5, 1.0, 1.0, 1.0)


def test_ties_are_settled_anew_with_every_seed() -> None:
    counted: list[None] = []
    found = full_simulation(
        ValidationCase(load_run(SMALL), scenario("router.policy=random")),
        20,
        None,
        lambda: counted.append(None),
    )
    assert len(counted) == found.seeds == 20
    assert not found.drawn
    assert found.predictions["workers_per_session"].low < found.predictions["workers_per_session"].high


def test_a_fitted_law_goes_before_the_scenarios_and_is_drawn_anew() -> None:
    fitted = Fitted(("other",), (-3.0, -7.0), ((0.1, 0.0), (0.0, 0.2)), 0.5)
    found = predict(20, "router.policy=round-robin", fitted=fitted)
    assert found.drawn
    assert "fitted to the TTFT and E2E of other" in found.law
    e2e = found.predictions["e2e_s.p50"]
    assert 0 < e2e.low < e2e.mean < e2e.high


def test_coefficients_that_are_known_to_ranges_are_drawn_anew() -> None:
    run = load_run(SMALL)
    ranged, fixed = (
        full_simulation(
            ValidationCase(run, scenario_of(run, "qwen14b-agg4", ("router.policy=round-robin", *more))[0]), 4
        )
        for more in ((), ("timing.draw=1",))
    )
    assert ranged.drawn
    assert ranged.law.startswith("step times (fitted): ")
    assert ranged.predictions["ttft_s.p50"].low < ranged.predictions["ttft_s.p50"].high
    # A draw that the scenario names is the only one.
    assert not fixed.drawn
    assert fixed.predictions["ttft_s.p50"].low == fixed.predictions["ttft_s.p50"].high


def test_requests_of_an_open_loop_client_leave_when_they_did() -> None:
    sent, cluster = as_the_client_would(recording(load_run(SMALL)), scenario())
    assert [request.timestamp_s for request in sent.trace.requests] == pytest.approx([0.0, 0.1, 1.05])
    assert cluster.replay.client == "open-loop"
    assert sent.ranks == {0: 0, 1: 1, 2: 1}


def test_a_client_with_a_limit_is_simulated(tmp_path: Path) -> None:
    folder = limited(tmp_path / "run")
    sent, cluster = as_the_client_would(recording(load_run(folder)), scenario(folder=folder))
    assert [request.timestamp_s for request in sent.trace.requests] == pytest.approx([0.0, 0.1, 1.0])
    assert (cluster.replay.client, cluster.replay.max_concurrency) == ("max-concurrency", 1)
