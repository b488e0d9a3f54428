"""A law that is fitted to what it gave itself."""

import json
from math import exp
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.predictions.fit import FITTED, Fitted, check_told, fit
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import bench, copy
from tests.validation.predictions.test_full_simulation import scenario

NO_TIMING = ("timing.t_floor_s=none", "timing.c_tok_s_per_token=none")


def test_the_fit_finds_the_law_that_made_the_times(tmp_path: Path) -> None:
    # On its recorded worker request 2 finds one block: 54 tokens. All are 1 ms on their way to the worker.
    seen = {"ttfts": [0.051, 0.051, 0.065], "itls": [[0.011], [0.011], []]}
    run = load_run(copy(tmp_path / "run", bench_json=json.dumps(bench() | seen)))
    found = fit([ValidationCase(run, scenario("timing.t_floor_s=30ms", "timing.c_tok_s_per_token=0.2ms"))])
    assert found.runs == ("run",)
    assert [exp(log) for log in found.logs] == pytest.approx([0.010, 0.001], rel=1e-3)
    assert found.mean_error < 1e-3
    step = found.law(scenario()).coefficients().step
    assert [getattr(step, name) for name in FITTED] == [exp(log) for log in found.logs]


def test_intervals_and_draws_have_the_spread_of_the_fit() -> None:
    found = Fitted(("run",), (-4.0, -7.0), ((0.3, 0.0), (0.3, 0.4)), 0.5)
    value, low, high = found.coefficients["c_tok_s_per_token"]
    assert (low / value, high / value) == pytest.approx((exp(-1.96 * 0.5), exp(1.96 * 0.5)), rel=1e-3)
    drawn = [found.law(scenario(), k).timing for k in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_without_latencies_there_is_nothing_to_fit(tmp_path: Path) -> None:
    run = load_run(copy(tmp_path / "run", bench_json=None))
    with pytest.raises(InputError, match=r"no latencies of its requests to fit to: .*--save-detailed"):
        fit([ValidationCase(run, scenario())])


def test_a_law_without_coefficients_is_not_fitted(tmp_path: Path) -> None:
    run = load_run(copy(tmp_path / "run"))
    with pytest.raises(InputError, match=r'timing\.preset = "dynamo-mocker": has no coefficients to fit'):
        fit(
            [
                ValidationCase(
                    run, scenario_of(run, "cpu-agg2", ("timing.preset=dynamo-mocker", *NO_TIMING))[0]
                )
            ]
        )


def test_requests_that_the_cluster_cannot_serve_leave_nothing_to_fit(tmp_path: Path) -> None:
    run = load_run(copy(tmp_path / "run"))
    with pytest.raises(InputError, match="not all of its completed requests complete"):
        fit([ValidationCase(run, scenario("engine.kv_blocks=5"))])


def test_a_coefficient_that_the_runs_do_not_tell_is_named() -> None:
    # 8 standard deviations of 2.1 above exp(-8) s are above an hour, of 2.0 below.
    check_told(Fitted(("run",), (-8.0, -7.0), ((2.0, 0.0), (0.0, 0.1)), 0.5))
    with pytest.raises(InputError, match=r"^run: these requests do not tell t_floor_s: .* give coefficients"):
        check_told(Fitted(("run",), (-8.0, -7.0), ((2.1, 0.0), (0.0, 0.1)), 0.5))
