"""Requests run again: the simulator is right about itself, and off by what was changed."""

from pathlib import Path

import numpy as np
import pytest

from sim.hardware.coefficient_file import FittedRun
from sim.measured.formats.requests_csv import RequestsFile, RequestsRun
from sim.validation.requests.latencies import Latencies, errors, measured, predicted, request_error
from sim.validation.requests.laws import laws
from sim.validation.requests.validate import COLUMNS, n_predictions, validate_requests
from tests.engine_runs import engine, simulated_run


def file(*runs: RequestsRun) -> RequestsFile:
    return RequestsFile(Path("runs.csv"), "0" * 64, runs)


def test_a_request_by_hand() -> None:
    scenario = engine(
        "timing.t_floor_s=10ms",
        "timing.c_tok_s_per_token=0",
        "timing.c_kv_s_per_token=0",
        "timing.a_pair_s=0",
        "timing.c_pf_s=5ms",
        "timing.c_step_s=1ms",
        "timing.c_seq_s=0",
        "frontend.alpha_in_s=3ms",
        "frontend.alpha_in_s_per_token=0",
        "frontend.alpha_out_s=2ms",
    )
    found = predicted(simulated_run(scenario, "one", 1.0, 1, prompt=100, output=3), scenario)
    # 3 ms in, a prefill of 16 ms, two decodes of 11 ms, 2 ms out.
    assert found.ttft_s.tolist() == [pytest.approx(0.021)]
    assert found.tpot_s.tolist() == [pytest.approx(0.011)]
    assert found.e2e_s.tolist() == [pytest.approx(0.043)]


def test_errors_are_relative_with_sign_over_requests_that_both_have() -> None:
    real = Latencies(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.1, 0.1]), np.array([2.0, 4.0, np.nan]))
    simulated = Latencies(np.array([1.5, 3.0, 100.0]), np.array([0.08, 0.08, 9.0]), np.array([1.0, 5.0, 7.0]))
    assert errors(real, simulated) == pytest.approx([0.5, 0.5, 0.5, -0.2, -0.2, 0.0, 4.96 / 3.98 - 1])
    assert request_error(real, simulated) == pytest.approx((0.5 + 0.25) / 2)


def test_without_a_second_token_or_an_answer_there_is_no_error() -> None:
    one, none = np.array([1.0, 2.0]), np.array([np.nan, np.nan])
    only_first = errors(Latencies(one, none, one), Latencies(2 * one, none, 2 * one))
    assert only_first == [1.0, 1.0, 1.0, None, None, 1.0, 1.0]
    unanswered = Latencies(none, none, none)
    assert errors(unanswered, Latencies(one, one, one)) == [None] * 7
    assert request_error(unanswered, Latencies(one, one, one)) is None


def test_the_scenario_predicts_itself_and_others_do_not() -> None:
    scenario = engine()
    run = simulated_run(scenario, "own", 8.0, 60)
    seen = []
    result = validate_requests(file(run), scenario, jobs=1, on_run=lambda: seen.append(1))
    assert [law["name"] for law in result["laws"]] == [law.name for law in laws(scenario)]
    assert [law["name"] for law in result["laws"]] == [
        "scenario",
        "kernels",
        "aiconfigurator",
        "roofline",
        "peak-roofline",
        "dynamo-mocker",
    ]
    (row,) = result["runs"]
    assert set(row["errors"]["scenario"].values()) == {0.0}
    assert row["errors"]["kernels"] == row["errors"]["scenario"]
    assert row["errors"]["peak-roofline"]["ttft_p50"] < -0.1
    assert row["measured_s"]["e2e_p50"] == measured(run).percentile("e2e_s", 50)
    assert len(seen) == n_predictions(file(run), scenario) == 6


def test_groups_average_absolute_errors_of_held_out_runs() -> None:
    scenario = engine()
    runs = [
        simulated_run(scenario, name, 8.0, 40, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    fitted = [FittedRun(run="a", arrivals=runs[0].arrivals_fingerprint())]
    slower = engine("timing.c_step_s=3ms")
    result = validate_requests(file(*runs), slower, baselines=False, fitted=fitted, jobs=1)
    assert [(run["name"], run["seen"], run["repeats"]) for run in result["runs"]] == [
        ("a", "fitted", None),
        ("b", "repeat", "a"),
        ("c", "new", None),
    ]
    groups = {group["name"]: group for group in result["groups"]}
    assert {name: group["runs"] for name, group in groups.items()} == {
        "fitted": 1,
        "new": 1,
        "repeat": 1,
        "held_out": 2,
    }
    for column in (*COLUMNS, "request_e2e"):
        off = [abs(run["errors"]["scenario"][column]) for run in result["runs"][1:]]
        assert groups["held_out"]["mean_absolute_error"]["scenario"][column] == pytest.approx(sum(off) / 2)
        assert off[0] > 0.01
