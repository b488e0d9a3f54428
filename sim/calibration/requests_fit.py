"""Fits coefficients to windows of measured runs: least squares over whole simulations.

Every simulation of a run sends the same requests at the same times, so that two of them differ by nothing but
the coefficients. Steps of the differences are wide: a percentile of simulated latencies is smooth over such a
step only.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.base.uniform import uniform
from sim.calibration.requests_windows import Window
from sim.experiments.jobs.processes import in_processes
from sim.hardware.coefficient_toml import rounded
from sim.scenario.scenario import Scenario

_Key = tuple[str, frozenset[tuple[str, float]]]
"""A run's name and coefficients."""

STEP = 0.03
"""Of a difference, as a share of the width of the coefficient's bounds."""

PARTS = 1.0, 0.5, 0.25, 0.1
"""Of a step, all of which are tried."""

SMALL = 0.02
"""A step that ends the fit, as a share of that of a difference."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A coefficient that is fitted: where it starts and how far it may go, in its own unit."""

    start: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Fit:
    """The best of several starts."""

    values: dict[str, float]
    cost: float
    """Half the sum of squared residuals, large ones counting less (soft L1)."""
    residuals: NDArray[np.float64]
    """By run and percentile, in tolerances."""
    costs: tuple[float, ...]
    """Of all starts, the least first."""


class Problem:
    """Windows of runs, and the simulations that compare coefficients with them.

    What was simulated once is kept, and fits to fewer of the windows share it (`without`).
    """

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        *,
        jobs: int | None = None,
        on_simulated: Callable[[], None] = lambda: None,
    ) -> None:
        self.windows = tuple(windows)
        self._scenario = scenario
        self._jobs = jobs
        self._on_simulated = on_simulated
        self._known: dict[_Key, NDArray[np.float64]] = {}

    def without(self, left_out: Window) -> "Problem":
        """Return the problem of the other windows."""
        others = copy(self)
        others.windows = tuple(window for window in self.windows if window is not left_out)
        return others

    def residuals(self, points: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
        """Return residuals, shape (points, runs, percentiles), of coefficients by name."""
        keyed = {_key(window, point): (window, point) for point in points for window in self.windows}
        new = {key: task for key, task in keyed.items() if key not in self._known}
        keys, tasks = [*new], [*new.values()]
        calls = [(window, with_coefficients(self._scenario, point)) for window, point in tasks]
        for place, residuals in in_processes(_residuals, calls, self._jobs):
            self._known[keys[place]] = residuals
            self._on_simulated()
        return np.array([[self._known[_key(window, point)] for window in self.windows] for point in points])

    def jacobian(
        self, values: Mapping[str, float], widths: Mapping[str, float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return residuals, shape (n,), and slopes, shape (n, coefficients), over these widths each way."""
        sides = [
            {**values, name: max(0.0, values[name] + side * width)}
            for name, width in widths.items()
            for side in (1, -1)
        ]
        here, *there = self.residuals([values, *sides]).reshape(1 + len(sides), -1)
        slopes = [
            (up - down) / (above[name] - below[name])
            for name, up, down, above, below in zip(
                widths, there[::2], there[1::2], sides[::2], sides[1::2], strict=True
            )
        ]
        return here, np.stack(slopes, axis=1)


def _residuals(task: tuple[Window, Scenario]) -> NDArray[np.float64]:
    """Simulate a window. Called in a process of its own."""
    window, scenario = task
    return window.residuals(scenario)


def _key(window: Window, point: Mapping[str, float]) -> _Key:
    return window.run.name, frozenset(point.items())


def with_coefficients(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """Return the scenario with other values of coefficients, by name."""
    found = {}
    for section in ("timing", "frontend"):
        settings = getattr(scenario, section)
        given = {name: value for name, value in values.items() if name in type(settings).model_fields}
        found[section] = settings.model_copy(update=given)
    return scenario.model_copy(update=found)


def fit(problem: Problem, free: Mapping[str, Bounds], *, starts: int = 2, iterations: int = 8) -> Fit:
    """Return the coefficients that hit the windows best.

    Args:
        problem: what is to be hit.
        free: the coefficients that are fitted, by name.
        starts: the first is at the values of `free`, the others anywhere within the bounds.
        iterations: at most so many steps of each start.

    """
    ends = [_from(problem, free, _start(free, k), iterations) for k in range(starts)]
    ends.sort(key=lambda end: end.cost)
    return replace(ends[0], costs=tuple(end.cost for end in ends))


def _start(free: Mapping[str, Bounds], k: int) -> dict[str, float]:
    if not k:
        return {name: rounded(bounds.start) for name, bounds in free.items()}
    shares = {name: 0.1 + 0.8 * uniform(k, f"start {name}", 0) for name in free}
    return {name: rounded(bounds.low + shares[name] * bounds.width) for name, bounds in free.items()}


def _from(problem: Problem, free: Mapping[str, Bounds], start: dict[str, float], iterations: int) -> Fit:
    """Return the best of all points that steps from a start lead to.

    Of each step several parts are tried at once, by all processes, and the best is gone on from, although it
    may be worse than here: a percentile jumps by more than what the last steps gain. For the same reason
    points have no more digits than a file of coefficients keeps.
    """
    widths = {name: STEP * bounds.width for name, bounds in free.items()}
    here = best = _ended(start, problem.residuals([start])[0])
    for _ in range(iterations):
        residuals, slopes = problem.jacobian(here.values, widths)
        weights = robust(residuals)
        aim = optimum(here.values, free, slopes, pull=weights * residuals, weights=weights)
        if all(abs(aim[name] - here.values[name]) < SMALL * width for name, width in widths.items()):
            break
        tried = [
            {name: rounded((1 - part) * here.values[name] + part * aim[name]) for name in free}
            for part in PARTS
        ]
        here = min(map(_ended, tried, problem.residuals(tried)), key=lambda end: end.cost)
        best = min(best, here, key=lambda end: end.cost)
    return best


def _ended(values: dict[str, float], residuals: NDArray[np.float64]) -> Fit:
    cost = float((np.sqrt(1.0 + residuals**2) - 1.0).sum())
    return Fit(values, cost, residuals.ravel(), (cost,))


def robust(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much each counts: large ones less (soft L1)."""
    found: NDArray[np.float64] = 1.0 / np.sqrt(1.0 + residuals**2)
    return found


def optimum(
    here: Mapping[str, float],
    free: Mapping[str, Bounds],
    slopes: NDArray[np.float64],
    *,
    pull: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> dict[str, float]:
    """Return where within the bounds the least squares lie if slopes stay: a Gauss-Newton step from here.

    Args:
        here: values of the coefficients.
        free: their bounds.
        slopes: of the residuals, shape (residuals, coefficients).
        pull: the residuals, each times its weight.
        weights: how much each counts.

    """
    from scipy.optimize import lsq_linear  # noqa: PLC0415 - only a fit needs it

    widths = np.array([bounds.width for bounds in free.values()])
    scaled = slopes * widths
    # As good as a step of the whole range is nothing learned: keeps what no run tells at its value.
    curvature = scaled.T @ (scaled * weights[:, None]) + np.eye(len(free))
    root = np.linalg.cholesky(curvature)
    at = [(here[name] - bounds.low) / bounds.width for name, bounds in free.items()]
    # A little room where a value lies at its bound: the solver wants some.
    room = -np.array(at) - 1e-9, 1.0 - np.array(at) + 1e-9
    shares = lsq_linear(root.T, -np.linalg.solve(root, scaled.T @ pull), room, method="bvls").x
    return {
        name: min(max(here[name] + share * bounds.width, bounds.low), bounds.high)
        for (name, bounds), share in zip(free.items(), shares.tolist(), strict=True)
    }
