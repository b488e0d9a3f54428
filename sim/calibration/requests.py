"""Calibrates the step times of an engine to runs of requests: fit, draws, and how well other runs are hit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.base.errors import InputError
from sim.calibration.requests_draws import joint_draws
from sim.calibration.requests_file import fitted_file
from sim.calibration.requests_fit import Bounds, Fit, Problem, fit, with_coefficients
from sim.calibration.requests_windows import window
from sim.hardware.coefficient_file import CoefficientFile, FittedRun
from sim.measured.formats.requests_csv import RequestsFile
from sim.scenario.scenario import Scenario
from sim.validation.requests.validate import validate_requests

FREE = (
    "c_tok_s_per_token",
    "c_mixed_s_per_token",
    "c_seq_s",
    "c_pf_s",
    "c_step_s",
    "alpha_in_s",
    "alpha_in_s_per_token",
)
"""What is fitted unless told otherwise; kernel measurements know the others better than whole requests do."""

MOST_S = {
    "c_mixed_s_per_token": 0.1e-6,
    "c_seq_s": 0.1e-3,
    "c_pf_s": 10e-3,
    "c_step_s": 5e-3,
    "alpha_in_s": 30e-3,
    "alpha_in_s_per_token": 5e-6,
}
"""Upper bounds of what kernel measurements say little or nothing of; the lower bound of these is 0."""
NEAR = 0.75, 1.5
"""Bounds of the others, as shares of the value that the fit starts from."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a fit is made."""

    free: Sequence[str] = FREE
    """Coefficients to fit; the others are held at the scenario's values."""
    window: int = 1000
    """First requests of each run that are simulated for the fit."""
    starts: int = 2
    iterations: int = 8
    """Most steps of each start."""
    draws: int = 50
    cross_validate: bool = False
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fit and what it rests on."""

    fit: Fit
    start: dict[str, float]
    """Where the fitted coefficients started."""
    held: dict[str, float]
    """Coefficients that were not fitted."""
    draws: dict[str, list[float]]
    """Joint draws by coefficient, those held within a range included."""
    cross_validation: dict[str, float]
    """By fitted run: root mean square of its residuals, in tolerances, under a fit to the others. Empty if
    not asked for."""
    accuracy: dict[str, Any]
    """Every run of the file with the fitted coefficients: see `sim.validation.requests.validate`."""
    content: CoefficientFile
    """The file of coefficients."""


def calibrate(
    file: RequestsFile,
    scenario: Scenario,
    runs: Sequence[str],
    settings: Settings,
    on_simulated: Callable[[], None] = lambda: None,
) -> Calibration:
    """Fit the coefficients of a scenario to some runs of a file, and try the others.

    Args:
        file: measured runs.
        scenario: the engine that was measured. Its coefficients are the start; those not fitted are held.
        runs: the names of those to fit.
        settings: how.
        on_simulated: called whenever the window of a run has been simulated.

    Raises:
        InputError: no such run or coefficient, or the scenario has no file of coefficients to start from.

    """
    values, origin = _values(scenario)
    free = {name: _bounds(name, values) for name in settings.free}
    held = {name: value for name, value in values.items() if name not in free}
    fitted = [file.run(name) for name in dict.fromkeys(runs)]
    windows = [window(run, settings.window) for run in fitted]
    with_held = with_coefficients(scenario, held)

    problem = Problem(with_held, windows, jobs=settings.jobs, on_simulated=on_simulated)
    found = fit(problem, free, starts=settings.starts, iterations=settings.iterations)
    kernels = {
        name: entry.range
        for name, entry in origin.entries.items()
        if name in held and entry.value == held[name] and entry.range[0] < entry.range[1]
    }
    draws = {}
    if settings.draws:
        rows = [{**held, **origin.drawn(k)} for k in range(1, settings.draws + 1)]
        draws = joint_draws(problem, found, free, at=held, held=kernels, rows=rows)
    crossed: dict[str, float] = {}
    if settings.cross_validate:
        nearby = {key: Bounds(found.values[key], bounds.low, bounds.high) for key, bounds in free.items()}
        crossed = _cross_validated(problem, with_held, nearby, settings.iterations)
    names = tuple(FittedRun(run=run.name, arrivals=run.arrivals_fingerprint()) for run in fitted)
    accuracy = validate_requests(
        file, with_coefficients(with_held, found.values), baselines=False, fitted=names, jobs=settings.jobs
    )
    content = fitted_file(
        origin,
        {name: {**held, **found.values}[name] for name in values},
        draws,
        fitted=tuple(free),
        data=file,
        runs=names,
        accuracy=accuracy,
    )
    start = {name: bounds.start for name, bounds in free.items()}
    return Calibration(found, start, held, draws, crossed, accuracy, content)


def _cross_validated(
    problem: Problem, scenario: Scenario, free: dict[str, Bounds], iterations: int
) -> dict[str, float]:
    """Return the root mean square of each run's residuals, in tolerances, under a fit to the others."""
    found = {}
    for left_out in problem.windows:
        values = fit(problem.without(left_out), free, starts=1, iterations=iterations).values
        residuals = left_out.residuals(with_coefficients(scenario, values))
        found[left_out.run.name] = float(np.sqrt(np.mean(residuals**2)))
    return found


def _values(scenario: Scenario) -> tuple[dict[str, float], CoefficientFile]:
    """Return the scenario's coefficients, and the file that they are of."""
    times = scenario.coefficients()
    if times.file is None:
        raise InputError(f"a fit starts from a file of coefficients, and has none here: {times.summary}")
    return {**times.step.model_dump(), **times.frontend.model_dump()}, times.file


def _bounds(name: str, values: dict[str, float]) -> Bounds:
    if name not in values or name == "tile_tokens":
        names = ", ".join(key for key in values if key != "tile_tokens")
        raise InputError(f"{name!r} cannot be fitted; what can are {names}")
    low, high = 0.0, MOST_S.get(name, 0.0)
    if name not in MOST_S:
        low, high = (share * values[name] for share in NEAR)
    return Bounds(min(max(values[name], low), high), low, high)
