"""Fits the step-time law to steps of known time: a table of the dense part, and straight lines for attention.

A prefill of q new tokens on p is a number for q plus `a_pair_s` times the pairs; a step of n decodes is a
number for n plus `c_kv_s_per_token` times their context. The slopes are fitted to all lengths together, by
least squares of the relative error of the whole step; what is left at each q and n is the table. So it does
not matter which operations a model's attention is made of. Steps that are no knot and no length of the fit
then say how well the law holds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import inf
from statistics import median

import numpy as np

from sim.base.sums import added
from sim.hardware.aic.steps import Steps
from sim.hardware.coefficient_file import HeldOut
from sim.hardware.coefficient_toml import rounded
from sim.hardware.dense_table import DenseTable
from sim.hardware.step_time import StepCoefficients, StepLaw, smooth_max

KNOTS = (
    *(1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024),
    *(1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384),
)
"""Tokens of a step, up to the largest budget that is usual."""
MOST_DECODES = 1024
"""Sequences of a step by vLLM's default."""
PREFIXES = (0, 4096, 16_384, 65_536)
CONTEXTS = (256, 1024, 4096, 16_384, 65_536)
MOST_CONTEXT = 2_000_000
"""Tokens that the largest pools hold."""

_LEAST_BATCH = 16
_LONG_CHUNK = 256
_HELD_CHUNKS = ((100, 700, 1500, 3000, 7000, 12_000), (0, 8192, 32_768, 100_000))
_HELD_DECODES = ((3, 6, 12, 24, 48, 80, 160, 320), (512, 2048, 8192, 32_768, 100_000))
_HELD_MIXED = ((512, 2048, 8192), (5, 24, 80, 200))

Line = tuple[float, dict[int, float]]
"""A slope in seconds, and what is left at each size."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law and how well it holds."""

    step: StepCoefficients
    table: DenseTable
    held_out: tuple[HeldOut, ...]


def fitted(steps: Steps, smooth_max_p: float) -> Fitted:
    """Return the law of some steps; `smooth_max_p` only matters where a coefficient is moved later."""
    a_pair_s, prefill = _line(
        [(new, prefix) for new, prefix in product(KNOTS, PREFIXES)],
        lambda new, prefix: steps.prefill(new, prefix).s,
        lambda new, prefix: new * (prefix + new / 2),
        least_size=256,
    )
    c_kv_s, decode = _line(
        [
            (batch, context)
            for batch, context in product(KNOTS, CONTEXTS)
            if batch <= MOST_DECODES and (batch * context <= MOST_CONTEXT or context <= CONTEXTS[1])
        ],
        lambda batch, context: steps.decode(batch, context).s,
        lambda batch, context: batch * context,
        least_size=1,
    )
    c_seq_s = _per_sequence_s(prefill, decode)
    # A step with prefill does all that one of decodes does: where the two cross, that of long chunks holds.
    alone = {tokens: time_s - c_seq_s * tokens for tokens, time_s in decode.items()}
    alone = {
        tokens: min(alone.get(tokens, inf), prefill[tokens]) if tokens >= _LONG_CHUNK else alone[tokens]
        for tokens in KNOTS
    }
    t_floor_s, c_tok_s = rounded(alone[KNOTS[0]]), rounded(prefill[KNOTS[-1]] / KNOTS[-1])
    plain = [smooth_max(t_floor_s, c_tok_s * tokens, smooth_max_p) for tokens in KNOTS]
    table = DenseTable(
        tokens=KNOTS,
        prefill=tuple(rounded(prefill[n] / s) for n, s in zip(KNOTS, plain, strict=True)),
        decode=tuple(rounded(alone[n] / s) for n, s in zip(KNOTS, plain, strict=True)),
    )
    step = StepCoefficients(
        t_floor_s=t_floor_s,
        c_tok_s_per_token=c_tok_s,
        smooth_max_p=smooth_max_p,
        a_pair_s=rounded(a_pair_s),
        c_kv_s_per_token=rounded(c_kv_s),
        c_seq_s=rounded(c_seq_s),
    )
    return Fitted(step, table, held_out(steps, StepLaw(step, table)))


def _line(
    points: Sequence[tuple[int, int]],
    step_s: Callable[[int, int], float],
    work: Callable[[int, int], float],
    least_size: int,
) -> Line:
    """Return the slope of time over work, common to all sizes, and what is left at each size.

    Args:
        points: (size, length).
        step_s: the time of a point.
        work: what the slope is of.
        least_size: smaller ones tell nothing of the slope: their kernels are all launch.

    """
    times = {point: step_s(*point) for point in points}
    sizes = {size: [point for point in points if point[0] == size] for size in dict(points)}
    above, below = [], []
    for size, own in sizes.items():
        if size < least_size:
            continue
        weights, x, y = _columns(own, times, work)
        x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
        above.append(float((weights * x * y).sum()))
        below.append(float((weights * x * x).sum()))
    slope = max(added(above) / added(below), 0.0)
    left = {}
    for size, own in sizes.items():
        weights, x, y = _columns(own, times, work)
        left[size] = max(float(np.average(y - slope * x, weights=weights)), 0.1 * min(y))
    return slope, _padded(left)


def _padded(left: Mapping[int, float]) -> dict[int, float]:
    """Return the times by size, none above that of a larger one.

    Tables jump where they change from one kernel to the next, to times that fall with more tokens; rows that
    nobody needs could always be added.
    """
    sizes = sorted(left, reverse=True)
    return dict(zip(sizes, accumulate((left[size] for size in sizes), min), strict=True))


def _columns(
    own: Sequence[tuple[int, int]],
    times: dict[tuple[int, int], float],
    work: Callable[[int, int], float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y = np.array([times[point] for point in own])
    return y**-2.0, np.array([work(*point) for point in own], dtype=float), y


def _per_sequence_s(prefill: dict[int, float], decode: dict[int, float]) -> float:
    """Return what each decode costs beyond a token of prefill, such as its recurrent state; 0 or more."""
    sizes = [size for size in decode if size >= _LEAST_BATCH]
    slope, _ = np.polyfit(sizes, [decode[size] - prefill[size] for size in sizes], 1)
    return max(float(slope), 0.0)


def held_out(steps: Steps, law: StepLaw) -> tuple[HeldOut, ...]:
    """Return the relative errors of a law on steps between those it is fitted to."""
    found = compared(steps, law)
    return tuple(_errors(quantity, [ratio for _, ratio in ratios]) for quantity, ratios in found.items())


def compared(steps: Steps, law: StepLaw) -> dict[str, list[tuple[int, float]]]:
    """Return tokens and law / step of each step that is held out, by what kind of step it is."""
    chunks = [
        (new, law.step_s([(new, prefix)], 0, 0) / steps.prefill(new, prefix).s)
        for new, prefix in product(*_HELD_CHUNKS)
    ]
    decodes = [
        (batch, law.step_s([], batch, batch * context) / steps.decode(batch, context).s)
        for batch, context in product(*_HELD_DECODES)
        if batch * context <= MOST_CONTEXT
    ]
    mixed = [
        (new + batch, law.step_s([(new, 0)], batch, batch * new) / steps.mixed_s(new, batch, new))
        for new, batch in product(*_HELD_MIXED)
    ]
    return {
        "prefill steps between the knots": chunks,
        "decode steps between the knots": decodes,
        "steps of both": mixed,
    }


def _errors(quantity: str, ratios: Sequence[float]) -> HeldOut:
    sizes = [abs(ratio - 1) for ratio in ratios]
    return HeldOut(
        quantity=quantity,
        n=len(sizes),
        mape=rounded(added(sizes) / len(sizes)),
        median=rounded(median(sizes)),
        largest=rounded(max(sizes)),
    )
