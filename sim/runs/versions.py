"""Whose rules runs follow, and whether those of another release made any difference."""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.runs.comparison import Comparison

KEY = "router.version"


def versions_in(summaries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the releases of all runs by what follows them, "Dynamo 1.5 and 1.6" where runs differ."""
    found: dict[str, dict[str, None]] = {}
    for summary in summaries:
        for what, release in summary.get("versions", {}).items():
            found.setdefault(what, {})[release] = None
    return {what: _joined([*releases]) for what, releases in found.items()}


def _joined(releases: list[str]) -> str:
    first, *others = releases
    name = first.rpartition(" ")[0]
    return " and ".join([first, *(other.removeprefix(f"{name} ") for other in others)])


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
