"""Fits a law to a table of kernel times: least squares of log(predicted / measured), whole shapes at a time.

Rows of one shape (a matrix, a set of heads) have errors in common, so shapes are what is held out to test a
fit and what is drawn to see how sure it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.uniform import draw_bits
from sim.calibration.kernel_laws import Floats, KernelLaw, Rates, Sizes

_LEAST_FITTED = 2
"""Shapes to fit while others are held out."""
_FURTHEST = 5.0
"""How far a fit may go from its start, as a logarithm."""
_HELD_OUT = 4
"""One shape in so many is held out, beside the model's own."""


@dataclass(frozen=True)
class Kernel:
    """What is fitted: rows of a table and a law for them."""

    name: str
    """Of the kernel, with its number format."""
    version: str
    """Of vLLM."""
    file: str
    """Whose rows."""
    law: KernelLaw
    sizes: Sizes
    measured_s: Floats
    shape: NDArray[np.int64]
    """Number of each row's shape, from 0 on."""
    own: frozenset[int]
    """The shapes that the model itself has: always held out."""

    @property
    def shapes(self) -> int:
        """How many there are."""
        return int(self.shape.max()) + 1 if len(self.shape) else 0

    def errors(self, rates: Rates) -> Floats:
        """Return log(predicted / measured) of every row."""
        found: Floats = np.log(self.law.time_s(rates, self.sizes) / self.measured_s)
        return found


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of a fit on rows of shapes that it had not seen."""

    rows: int
    shapes: int
    mape: float
    """Mean absolute one: 0.05 is 5 %."""
    median: float
    own: float | None
    """Mean absolute one on the model's own shapes; None if the table has none."""


def fit(kernel: Kernel, weights: Sequence[float] | None = None) -> Rates:
    """Return the rates with the least squared errors.

    Args:
        kernel: what to fit.
        weights: how much each shape counts; all the same if not given.

    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - slow to import

    names = list(kernel.law.start)
    root = np.ones(len(kernel.shape)) if weights is None else np.sqrt(np.array(weights)[kernel.shape])

    def residuals(logs: Floats) -> Floats:
        return root * kernel.errors(dict(zip(names, np.exp(logs), strict=True)))

    start = np.log(list(kernel.law.start.values()))
    # A rate that no row shows may go anywhere; an exponent below 1 would add up to more than the sum.
    low = np.where(np.array(names) == "p", 0.0, start - _FURTHEST)
    found = least_squares(residuals, start, bounds=(low, start + _FURTHEST), x_scale=0.1)
    return dict(zip(names, map(float, np.exp(found.x)), strict=True))


def held_out_errors(kernel: Kernel) -> Errors:
    """Fit without the model's own shapes and a quarter of the others, and return the errors on those.

    Raises:
        InputError: there are too few shapes.

    """
    held = _held_out(kernel)
    if kernel.shapes - len(held) < _LEAST_FITTED:
        raise InputError(
            f"{kernel.file}: {kernel.name} has {kernel.shapes} shapes, of which {len(held)} test the fit: "
            f"too few are left, {_LEAST_FITTED} are needed"
        )
    rates = fit(kernel, [0.0 if shape in held else 1.0 for shape in range(kernel.shapes)])
    relative = np.abs(np.expm1(kernel.errors(rates)))
    rows = np.isin(kernel.shape, list(held))
    own = np.isin(kernel.shape, list(kernel.own))
    return Errors(
        int(rows.sum()),
        len(held),
        float(relative[rows].mean()),
        float(np.median(relative[rows])),
        float(relative[own].mean()) if own.any() else None,
    )


def resampled(kernel: Kernel, k: int) -> Rates:
    """Return the rates of bootstrap draw `k`: fitted to as many shapes, drawn with replacement."""
    counts = [0.0] * kernel.shapes
    for place in range(kernel.shapes):
        counts[draw_bits(k, f"bootstrap {kernel.name}", place) % kernel.shapes] += 1
    return fit(kernel, counts)


def _held_out(kernel: Kernel) -> set[int]:
    others = [shape for shape in range(kernel.shapes) if shape not in kernel.own]
    others.sort(key=lambda shape: draw_bits(0, f"held out {kernel.name}", shape))
    return {*kernel.own, *others[: -(-len(others) // _HELD_OUT)]}
