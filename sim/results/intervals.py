"""Several runs of a scenario: the mean of every number over seeds, and how well it is known.

Runs that also draw their coefficients have bands in place of means and intervals (`sim.results.bands`).
"""

from collections.abc import Callable, Mapping, Sequence
from math import cos, fsum, pi, sin, sqrt, tan
from typing import Any, NamedTuple

from sim.results.bands import COVERAGE, Band, band

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean over seeds, its 95 % confidence interval by Student's t, and the extremes."""

    mean: float | None
    low: float | None
    """None for fewer than two values."""
    high: float | None
    least: float | None
    most: float | None
    n: int
    """Runs that had a value."""

    @property
    def middle(self) -> float | None:
        """The number to show when there is room for one."""
        return self.mean


def interval(values: Sequence[float]) -> Interval:
    """Return the interval of a mean: mean -+ t s / sqrt(n), s the sample's standard deviation."""
    n = len(values)
    if not n:
        return Interval(None, None, None, None, None, 0)
    mean = fsum(values) / n
    if n == 1:
        return Interval(mean, None, None, mean, mean, 1)
    variance = fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = student_t(n - 1) * sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, min(values), max(values), n)


def combine(
    seeds: Sequence[int], summaries: Sequence[Mapping[str, Any]], draws: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the summaries of several runs and, in the same shape, the spread of each of their numbers.

    Over seeds it is the interval of the mean, and a percentile's is that of the mean over runs of each run's
    percentile. Over draws it is the band of all runs. A number that is None in some runs is taken over the
    others; its `n` says over how many.

    Args:
        seeds: of the runs.
        summaries: of the runs, every draw of every seed.
        draws: of the coefficients; none if their values were taken.

    """
    apart = ("schema_version", "thin_percentiles", "slo", "notes", "faults")
    numbers = [{key: value for key, value in run.items() if key not in apart} for run in summaries]
    if draws:
        spread = {"draws": list(draws), "coverage": COVERAGE, "bands": _combine(numbers, band)}
    else:
        spread = {"confidence": CONFIDENCE, "intervals": _combine(numbers, interval)}
    return {
        "schema_version": summaries[0]["schema_version"],
        "seeds": list(seeds),
        **spread,
        "thin_percentiles": list(
            dict.fromkeys(name for run in summaries for name in run["thin_percentiles"])
        ),
        "runs": list(summaries),
    }


def _combine(nodes: Sequence[Any], spread: Callable[[Sequence[float]], Interval | Band]) -> Any:
    """Combine the same place of every run: a mapping by its keys, anything else as numbers or None."""
    inner = [node for node in nodes if isinstance(node, Mapping)]
    if inner:
        keys = dict.fromkeys(key for node in inner for key in node)
        return {key: _combine([node.get(key) for node in inner], spread) for key in keys}
    return spread([node for node in nodes if node is not None])._asdict()


def student_t(freedom: int) -> float:
    """Return the t with P(|T| < t) = 0.95 for so many degrees of freedom."""
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _central_probability(middle, freedom) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan(low)


def _central_probability(angle: float, freedom: int) -> float:
    """Return P(|T| < sqrt(freedom) tan(angle)) by Abramowitz and Stegun's series 26.7.3 and 26.7.4."""
    odd = freedom % 2
    if freedom == 1:
        return 2 * angle / pi
    term = total = cos(angle) if odd else 1.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cos(angle) ** 2
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
