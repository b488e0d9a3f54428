"""Several runs of a scenario: the mean of every number over seeds, and how well it is known.

Runs that also draw their coefficients have bands in place of means and intervals (`sim.runs.bands`).
"""

from collections.abc import Callable, Mapping, Sequence
from math import cos, exp, fsum, log, pi, sin, sqrt, tan
from typing import Any, NamedTuple

from sim.results.quantities import is_part_of_one
from sim.runs.bands import COVERAGE, Band, band

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean over seeds, its 95 % confidence interval (`around`), and the extremes."""

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


def interval(values: Sequence[float], metric: str = "") -> Interval:
    """Return the mean of a number and its interval, from t s / sqrt(n), s the sample's standard deviation."""
    n = len(values)
    if not n:
        return Interval(None, None, None, None, None, 0)
    mean = fsum(values) / n
    if n == 1:
        return Interval(mean, None, None, mean, mean, 1)
    variance = fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = student_t(n - 1) * sqrt(variance / n)
    low, high = around(mean, half, positive=min(values) >= 0, share=is_part_of_one(metric))
    return Interval(mean, low, high, min(values), max(values), n)


def around(mean: float, half: float, *, positive: bool, share: bool = False) -> tuple[float, float]:
    """Return the ends of an interval, within what its number can be.

    Args:
        mean: what it is of.
        half: its half width on a linear scale; on another one that divided by the slope there (delta method).
        positive: whether the number is never below 0: the interval is taken on a logarithmic scale,
        share: and where it is also never above 1, on that of log odds.

    """
    if not half or not positive:
        return mean - half, mean + half
    if share and 0 < mean < 1:
        odds, width = log(mean / (1 - mean)), half / (mean * (1 - mean))
        return 1 / (1 + exp(width - odds)), 1 / (1 + exp(-width - odds))
    return mean * exp(-half / mean), mean * exp(half / mean)


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
    apart = ("schema_version", "thin_percentiles", "slo", "notes", "not_completed", "faults")
    numbers = [{key: value for key, value in run.items() if key not in apart} for run in summaries]
    if draws:
        bands = _combine(numbers, lambda values, _: band(values))
        spread = {"draws": list(draws), "coverage": COVERAGE, "bands": bands}
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


def _combine(
    nodes: Sequence[Any], spread: Callable[[Sequence[float], str], Interval | Band], name: str = ""
) -> Any:
    """Combine the same place of every run: a mapping by its keys, anything else as numbers or None."""
    inner = [node for node in nodes if isinstance(node, Mapping)]
    if inner:
        keys = dict.fromkeys(key for node in inner for key in node)
        return {
            key: _combine([node.get(key) for node in inner], spread, f"{name}.{key}" if name else key)
            for key in keys
        }
    return spread([node for node in nodes if node is not None], name)._asdict()


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
