"""Coefficients of an engine that the simulator itself plays are found again from its requests alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from sim.base.errors import InputError
from sim.calibration.requests import Settings, calibrate
from sim.calibration.requests_fit import PARTS, Bounds, Problem, fit, optimum, with_coefficients
from sim.calibration.requests_show import head_lines
from sim.calibration.requests_windows import TOLERANCES, window
from sim.cli import app
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.coefficient_toml import to_toml
from sim.measured.formats.requests_csv import RequestsFile, read_requests
from sim.scenario.load import load_scenario
from sim.validation.requests.validate import validate_requests
from tests.engine_runs import engine, simulated_run, write_csv

TRUE = {"c_tok_s_per_token": 40e-6, "alpha_in_s": 12e-3}
FREE = tuple(TRUE)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> RequestsFile:
    real = with_coefficients(engine(), TRUE)
    runs = [
        simulated_run(real, "slow", 5.0, 40, output=8),
        simulated_run(real, "fast", 12.0, 50, output=8, seed=1),
        simulated_run(real, "other", 8.0, 40, output=8, seed=2),
    ]
    return read_requests(write_csv(tmp_path_factory.mktemp("data") / "runs.csv", runs))


def test_no_residual_is_left_of_the_true_coefficients(data: RequestsFile) -> None:
    start = window(data.run("fast"), 40)
    right = start.residuals(with_coefficients(engine(), TRUE))
    assert right == pytest.approx(np.zeros(len(TOLERANCES)), abs=1e-6)
    # One millisecond more on the way in is one more in every TTFT.
    later = start.residuals(with_coefficients(engine(), TRUE | {"alpha_in_s": 13e-3}))
    assert later[0] == pytest.approx(np.log1p(1e-3 / start.measured[0]) / 0.01, rel=1e-3)


def test_requests_count_that_no_later_one_can_have_changed(data: RequestsFile) -> None:
    run = data.run("fast")
    start = window(run, 40)
    assert len(start.run) == 40
    assert start.counted.tolist() == (run.send_s + run.e2e_s <= run.send_s[39])[:40].tolist()
    with pytest.raises(InputError, match=r"run fast: \d of its first 5 requests were answered before"):
        window(run, 5)


def test_nothing_is_simulated_twice(data: RequestsFile) -> None:
    simulated: list[None] = []
    slow, fast = (window(data.run(name), 30) for name in ("slow", "fast"))
    problem = Problem(engine(), [slow, fast], jobs=1, on_simulated=lambda: simulated.append(None))
    both = problem.residuals([TRUE, TRUE | {"alpha_in_s": 13e-3}, TRUE])
    assert both.shape == (3, 2, len(TOLERANCES))
    assert len(simulated) == 4
    assert both[2].tolist() == both[0].tolist()
    assert both[1].tolist() != both[0].tolist()
    others = problem.without(slow)
    assert others.windows == (fast,)
    assert others.residuals([TRUE]).tolist() == [[both[0][1].tolist()]]
    assert len(simulated) == 4
    others.residuals([TRUE | {"alpha_in_s": 14e-3}])
    assert len(simulated) == 5


def test_a_step_leads_to_the_least_squares_within_bounds() -> None:
    # Residuals 100 (a + b - 1.2) and 100 (b - 0.6): both are 0 at 0.6 and 0.6. Where a ends at 0.5, b makes
    # up for it: least are (b - 0.7)^2 + (b - 0.6)^2.
    slopes = np.array([[100.0, 100.0], [0.0, 100.0]])
    here = {"a": 0.4, "b": 0.4}
    residuals = np.array([-40.0, -20.0])
    for most, aim in ((1.0, {"a": 0.6, "b": 0.6}), (0.5, {"a": 0.5, "b": 0.65})):
        free = {"a": Bounds(0.4, 0.0, most), "b": Bounds(0.4, 0.0, 1.0)}
        found = optimum(here, free, slopes, pull=residuals, weights=np.ones(2))
        assert found == pytest.approx(aim, abs=1e-3)
        assert found["a"] <= most


@pytest.mark.slow
def test_a_fit_finds_the_true_coefficients_from_any_start(data: RequestsFile) -> None:
    problem = Problem(engine(), [window(data.run("fast"), 30)], jobs=1)
    bounds = {"c_tok_s_per_token": Bounds(32e-6, 30e-6, 48e-6), "alpha_in_s": Bounds(2e-3, 0.0, 20e-3)}
    found = fit(problem, bounds, starts=2, iterations=5)
    assert found.values == pytest.approx(TRUE, rel=0.01)
    assert len(found.costs) == 2
    assert found.cost == found.costs[0] < 0.05


class Jumping(Problem):
    """The best point is one that no slope leads to; downhill is away from it, to 0.9."""

    steps = 0

    def residuals(self, points: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
        self.steps += len(points) == len(PARTS)
        return np.array([[[0.1 if point["a"] == 0.5 else 2.0 + 10 * (0.9 - point["a"])]] for point in points])


def test_a_fit_goes_on_past_worse_points_and_keeps_the_best() -> None:
    problem = Jumping(engine(), [], jobs=1)
    found = fit(problem, {"a": Bounds(0.5, 0.0, 0.9)}, starts=1, iterations=5)
    assert found.values == {"a": 0.5}
    assert found.cost == pytest.approx(1.01**0.5 - 1)
    assert problem.steps > 1


@pytest.mark.slow
def test_a_calibration_is_a_file_of_coefficients(data: RequestsFile, tmp_path: Path) -> None:
    start = engine("timing.c_tok_s_per_token=40.2us", "frontend.alpha_in_s=11.8ms")
    settings = Settings(free=FREE, window=40, starts=1, iterations=3, draws=20, jobs=1)
    found = calibrate(data, start, ["slow", "fast"], settings)
    path = tmp_path / "fit.toml"
    path.write_text(to_toml(found.content, head_lines(found.content)))
    content = read_coefficient_file(path)
    assert content == found.content
    assert content.origin == "fitted"
    assert {name: content.values[name] for name in FREE} == found.fit.values
    assert found.fit.values == pytest.approx(TRUE, rel=0.02)
    assert content.step["c_kv_s_per_token"].value == engine().coefficients().step.c_kv_s_per_token
    assert (content.data[0].sha256, content.data[0].rows) == (data.sha256, 130)
    assert [run.run for run in content.fitted_runs] == ["slow", "fast"]
    assert {entry.quantity for entry in content.held_out} >= {"ttft p50, unsaturated runs"}
    assert all(entry.n == 1 and entry.mape < 0.02 for entry in content.held_out)
    taken = validate_requests(data, engine(f"timing.coefficients={path}"), baselines=False, jobs=1)
    assert taken["runs"] == found.accuracy["runs"]
    for name in FREE:
        assert content.entries[name].range[0] <= content.values[name] <= content.entries[name].range[1]
    # The way in makes up for a way out that is drawn longer: TTFT tells only their sum.
    assert {len(column) for column in content.draws.values()} == {20}
    assert np.corrcoef(content.draws["alpha_out_s"], content.draws["alpha_in_s"])[0, 1] < -0.2
    assert "tile_tokens" not in content.draws


def test_runs_are_predicted_by_a_fit_to_the_others(data: RequestsFile) -> None:
    near = engine("timing.c_tok_s_per_token=40us", "frontend.alpha_in_s=11ms")
    settings = Settings(
        free=("alpha_in_s",), window=40, starts=1, iterations=3, draws=0, cross_validate=True, jobs=1
    )
    found = calibrate(data, near, ["slow", "fast"], settings)
    assert set(found.cross_validation) == {"slow", "fast"}
    assert max(found.cross_validation.values()) < 0.5
    assert found.draws == {}


def test_what_cannot_be_fitted_is_refused(data: RequestsFile) -> None:
    for names, message in (
        (("c_tok",), "'c_tok' cannot be fitted; what can are t_floor_s, c_tok_s_per_token, smooth_max_p"),
        (("tile_tokens",), "'tile_tokens' cannot be fitted"),
    ):
        with pytest.raises(InputError, match=message):
            calibrate(data, engine(), ["slow"], Settings(free=names, jobs=1))
    with pytest.raises(InputError, match="no run 'fats'"):
        calibrate(data, engine(), ["fats"], Settings(jobs=1))
    (slow,) = (run for run in data.runs if run.name == "slow")
    with pytest.raises(InputError, match=r"run slow: .* TPOT needs answers of two tokens or more"):
        window(replace(slow, output_tokens=np.ones_like(slow.output_tokens)), 30)
    roofline = load_scenario("h100-qwen3-14b", ["timing.preset=roofline"])
    with pytest.raises(InputError, match="a fit starts from a file of coefficients"):
        calibrate(data, roofline, ["slow"], Settings(jobs=1))


def test_the_command_writes_the_file_and_shows_the_fit(data: RequestsFile, tmp_path: Path) -> None:
    out = tmp_path / "fit.toml"
    options = ["--requests", str(data.path), "--fit", "slow", "--free", "alpha_in_s"]
    options += ["--window", "30", "--starts", "1", "--draws", "3", "--jobs", "1"]
    options += ["--set", "timing.coefficients=qwen3-14b-bf16_h100-80gb-kernels"]
    options += ["--set", "timing.c_tok_s_per_token=40us"]
    arguments = ["calibrate", "requests", "h100-qwen3-14b", *options]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)], terminal_width=100)
    assert result.exit_code == 0, result.output
    assert read_coefficient_file(out).frontend["alpha_in_s"].value == pytest.approx(12e-3, rel=0.02)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "Coefficient start fitted 95 % of draws"
    assert lines[1].startswith("alpha_in_s 9.3ms ")
    assert max(map(len, result.stdout.splitlines())) <= 100
    refused = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "no" / "fit.toml")])
    assert refused.exit_code == 2
    assert "no such folder" in refused.stderr
