"""Runs that differ in nothing but the rules of a release: whether those made any difference."""

from collections.abc import Mapping
from typing import Any

from sim.runs.comparison import Comparison

KEY = "router.version"


def same_under_all_rules(comparison: Comparison) -> bool | None:
    """Return whether all numbers of the runs are equal whatever `router.version` is.

    None where no two runs differ in that alone.
    """
    if KEY not in comparison.keys:
        return None
    place = comparison.keys.index(KEY)
    found: dict[Any, list[Mapping[str, float | None]]] = {}
    for run in comparison.runs:
        if run.summary is not None:
            point = comparison.point(run)
            case = run.scenario, point[:place], point[place + 1 :], run.seed, run.draw
            found.setdefault(case, []).append(run.numbers)
    pairs = [numbers for numbers in found.values() if len(numbers) > 1]
    if not pairs:
        return None
    return all(other == first for first, *others in pairs for other in others)
