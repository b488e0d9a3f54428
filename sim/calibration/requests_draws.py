"""Joint draws of coefficients around a fit: how well the runs tell them, alone and together.

A bootstrap over runs: draw k gives every run a weight of its own (exponential, as in the Bayesian
bootstrap) and every coefficient that was held a value of its range. The fitted ones follow as in a fit with
these, along the slopes at the optimum, without simulating anew. What only sums tell shows in the rows: where
one is low, another is high.
"""

from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from sim.base.uniform import uniform
from sim.calibration.requests_fit import STEP, Bounds, Fit, Problem, optimum, robust


def joint_draws(
    problem: Problem,
    found: Fit,
    free: Mapping[str, Bounds],
    *,
    at: Mapping[str, float],
    held: Mapping[str, tuple[float, float]],
    rows: Sequence[Mapping[str, float]],
) -> dict[str, list[float]]:
    """Return values of each fitted and each held coefficient, in its own unit, one a draw.

    Args:
        problem: what was fitted to.
        found: the fit.
        free: the coefficients that were fitted.
        at: the values of those that were held.
        held: the range of each of these that is not known better.
        rows: draws of all coefficients; what they say of those that were fitted is not used.

    """
    widths = {name: STEP * bounds.width for name, bounds in free.items()}
    # Ranges of kernel measurements are narrow: the slope over the whole of one is smoothest.
    halves = {name: (high - low) / 2 for name, (low, high) in held.items()}
    residuals, slopes = problem.jacobian({**at, **found.values}, {**widths, **halves})
    per_run = len(residuals) // len(problem.windows)
    columns: dict[str, list[float]] = {name: [] for name in (*free, *held)}
    for k, row in enumerate(rows, start=1):
        counts = np.repeat([_weight(k, window.run.name) for window in problem.windows], per_run)
        shifts = np.array([row[name] - at[name] for name in held])
        moved = residuals + slopes[:, len(free) :] @ shifts
        # What is left of the gradient at the optimum, where differences and simulations meet no exact zero,
        # is taken out: equal weights and held values give no step.
        pull = robust(residuals) * (counts * moved - residuals)
        weights = robust(residuals) * counts
        drawn = optimum(found.values, free, slopes[:, : len(free)], pull=pull, weights=weights)
        for name in free:
            columns[name].append(drawn[name])
        for name in held:
            columns[name].append(row[name])
    return columns


def _weight(k: int, run: str) -> float:
    return -log(1.0 - uniform(k, f"weight of run {run}", 0))
