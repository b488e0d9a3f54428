"""Two runs beside each other, number by number: what is the same of both charts and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sim.base import words
from sim.report.chart import DataTable
from sim.report.turns import REUSE
from sim.results.quantities import USUAL, flat, label, select_or, unit

MARKS = ("A", "B")
"""What the two are called on their page."""
_ALSO = (
    *REUSE,
    "by_turn.first.ttft_s.p95",
    "by_turn.later.ttft_s.p50",
    "by_turn.later.ttft_s.p95",
    "by_turn.later.recomputation",
)


class Setting(NamedTuple):
    """A key of the scenario that the two set differently."""

    key: str
    first: str
    second: str


def number_table(first: Mapping[str, Any], second: Mapping[str, Any]) -> DataTable:
    """Return the numbers that runs are compared by, of two summaries, and how far B is from A."""
    numbers = [flat(summary) for summary in (first, second)]
    known = {**numbers[0], **numbers[1]}
    names = [name for name in dict.fromkeys((*USUAL, *_ALSO)) if known.get(name) is not None]
    rows = [_row(name, numbers[0].get(name), numbers[1].get(name)) for name in select_or((), names, known)]
    return DataTable(("number", *MARKS, "B less A", "B less A, of A"), rows)


def difference(shown: str, first: float, second: float) -> str:
    """Return the distance between two numbers with its sign, from how it is shown without one."""
    return f"{'+' if second > first else '-'}{shown}" if second != first else "0"


def _row(name: str, first: float | None, second: float | None) -> list[str]:
    kind = unit(name)
    cells = [label(name), kind.show(first), kind.show(second)]
    if first is None or second is None:
        return [*cells, words.MISSING, words.MISSING]
    away = abs(second - first)
    relative = difference(words.percent(away / abs(first)), first, second) if first else words.MISSING
    return [*cells, difference(kind.show_difference(away), first, second), relative]


def differing_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Setting]:
    """Return the keys that two scenarios, as tables, set to other values; a dash where one does not."""
    both = [dict(_settings(table, "")) for table in (first, second)]
    keys = dict.fromkeys([*both[0], *both[1]])
    found = [Setting(key, *(side.get(key, words.MISSING) for side in both)) for key in keys]
    return [setting for setting in found if setting.first != setting.second]


def _settings(node: Any, key: str) -> Sequence[tuple[str, str]]:
    if isinstance(node, Mapping):
        inner = [_settings(value, f"{key}.{name}" if key else name) for name, value in node.items()]
        return [found for part in inner for found in part]
    if isinstance(node, list) and any(isinstance(value, Mapping) for value in node):
        inner = [_settings(value, f"{key}[{place}]") for place, value in enumerate(node)]
        return [found for part in inner for found in part]
    return [(key, str(node).lower() if isinstance(node, bool) else str(node))]
