"""Several runs of a scenario: the spread of every number, in the shape of a summary."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim.runs.spread import CONFIDENCE, COVERAGE, band, interval


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
    apart = ("schema_version", "thin_percentiles", "slo", "notes", "versions", "not_completed", "faults")
    numbers = [{key: value for key, value in run.items() if key not in apart} for run in summaries]
    if draws:
        bands = _combine(numbers, lambda values, _: band(values).named("median"))
        spread = {"draws": list(draws), "coverage": COVERAGE, "bands": bands}
    else:
        intervals = _combine(numbers, lambda values, name: interval(values, name).named("mean"))
        spread = {"confidence": CONFIDENCE, "intervals": intervals}
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
    nodes: Sequence[Any], spread: Callable[[Sequence[float], str], dict[str, Any]], name: str = ""
) -> Any:
    """Combine the same place of every run: a mapping by its keys, anything else as numbers or None."""
    inner = [node for node in nodes if isinstance(node, Mapping)]
    if inner:
        keys = dict.fromkeys(key for node in inner for key in node)
        return {
            key: _combine([node.get(key) for node in inner], spread, f"{name}.{key}" if name else key)
            for key in keys
        }
    return spread([node for node in nodes if node is not None], name)
