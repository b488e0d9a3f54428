"""Several variants of the simulator beside each other, for the same rows."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.whole_file import whole_file
from sim.published.scores import RowScore
from sim.published.show_rows import band, place, quantity
from sim.published.targets import Target
from sim.published.variants import Scored
from sim.show.text.page_parts import footnotes, table

COLUMNS = ("variant", "id", "workload", "place", "unit", "low", "high", "simulated", "off", "holds")
"""Of the table file: a line for each row and variant, at the place that is furthest from the target."""


def render(targets: Sequence[Target], found: Sequence[Scored]) -> RenderableType:
    """Return a line for each row, a column for each variant, ready to print."""
    lines = table("Row", "target", *(scored.variant.name for scored in found))
    for target in targets:
        rows = [next((row for row in scored.rows if row.target is target), None) for scored in found]
        lines.add_row(target.id, band(target), *map(_number, rows))
    lines.add_section()
    lines.add_row("rows that hold", "", *(_held(scored, len(targets)) for scored in found))
    notes = [
        "numbers: the median run at the place that is furthest from the target; red: the row does not hold"
    ]
    return Group(lines, footnotes(notes))


def to_dict(found: Sequence[Scored]) -> dict[str, Any]:
    """Return all numbers, ready for JSON."""
    return {
        "schema_version": 1,
        "variants": [
            {
                "name": scored.variant.name,
                "settings": list(scored.variant.settings),
                "rows": [dict(zip(COLUMNS[1:], line[1:], strict=True)) for line in _lines(scored)],
            }
            for scored in found
        ],
    }


def write(found: Sequence[Scored], path: Path) -> None:
    """Write the table file."""
    with whole_file(path) as built, built.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        for scored in found:
            lines.writerows(_lines(scored))


def _lines(scored: Scored) -> Iterator[list[Any]]:
    for row in scored.rows:
        target, deciding = row.target, row.deciding
        measured = deciding.median is not None
        yield [
            scored.variant.name,
            target.id,
            row.workload,
            place(deciding),
            target.unit,
            *target.band,
            _rounded(deciding.median),
            _rounded(deciding.off) if measured else None,
            row.holds,
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _number(row: RowScore | None) -> Text:
    if row is None:
        return Text(words.MISSING, style="dim")
    return Text(quantity(row.target, row.deciding.median), style="" if row.holds else "red")


def _held(scored: Scored, rows: int) -> str:
    held = sum(row.holds for row in scored.rows)
    return f"{held} of {len(scored.rows)}" if len(scored.rows) < rows else str(held)
