"""How durations are distributed: size, mean, percentiles, maximum, and which percentiles few samples back."""

from collections.abc import Mapping
from typing import Any

from sim.results.weighted import WeightedSample

PERMILLES = (500, 900, 950, 990, 999)
"""The percentiles that are reported, in tenths of a percent."""


def percentile_name(permille: int) -> str:
    """Return "p50" for 500, "p99.9" for 999."""
    return f"p{permille / 10:g}"


def distribution(sample: WeightedSample) -> dict[str, float | int | None]:
    """Return size, mean, percentiles by linear interpolation and maximum; None each of an empty sample."""
    values = sample.percentiles(permille / 10 for permille in PERMILLES)
    percentiles = dict(zip(map(percentile_name, PERMILLES), values, strict=True))
    return {"n": sample.n, "mean": sample.mean, **percentiles, "max": sample.max}


def thin(distributions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Name the percentiles with fewer than ten samples expected beyond them: n < 10 / (1 - q)."""
    return [
        f"{name}.{percentile_name(permille)}"
        for name, numbers in distributions.items()
        for permille in PERMILLES
        if 0 < numbers["n"] * (1000 - permille) < 10_000
    ]
