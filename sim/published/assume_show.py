"""Sets of assumptions beside each other, ready to print, for JSON and as tables."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base.whole_file import whole_file
from sim.published.assume import Assumed, hangs_on
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.show_printed import where
from sim.published.show_rows import band, quantity, shown_share
from sim.show.text.page_parts import footnotes, table

ASSUMED = "assumed.csv"
COLUMNS = (
    "assumptions",
    "without",
    "workload",
    "id",
    "may_be_fitted",
    "place",
    "level",
    "unit",
    "low",
    "high",
    "simulated",
    "values",
    "share_inside",
    "holds",
    "decides",
    "row_holds",
)
"""Of the table file: a line for each place of each row, by set of assumptions and workload."""


def render(found: Sequence[Assumed], settings: ClusterSettings) -> RenderableType:
    """Return a line for each row, a column for each set of assumptions, and what rows hang on."""
    whole = [each for each in found if each.left_out is None]
    lines = table("Row", "target", *(each.heading for each in whole))
    for at, row in enumerate(whole[0].rows):
        lines.add_row(
            row.target.name + ("*" if row.target.fitted else ""),
            band(row.target),
            *(_cell(settings, each.rows[at]) for each in whole),
        )
    lines.add_section()
    lines.add_row("rows that hold", "", *(f"{each.held} of {len(each.rows)}" for each in whole))
    lines.add_row("of those that may be fitted", "", *(_of(each, fitted=True) for each in whole))
    lines.add_row("of the others", "", *(_of(each, fitted=False) for each in whole))
    lines.add_row("places that hold", "", *(_places(each) for each in whole))
    lines.add_row("runs that hung", "", *(f"{len(each.hung)} of {each.runs}" for each in whole))
    parts: list[RenderableType] = [lines, Text()]
    for name, sentences in hangs_on(found).items():
        parts += [Text(f"What rows hang on under {name}", style="bold")]
        parts += [Text(f"{row}: {sentence}") for row, sentence in sentences.items()]
        parts += [Text()]
    return Group(*parts, footnotes(_NOTES))


_NOTES = [
    "* may be fitted; all other rows are predictions, to be read once",
    "numbers: the median over sets of sessions at the place that is furthest from the target, how many of "
    "these sets are inside there, and at how many places the row holds; red: it does not at all of them",
    "a run that hung gives no number; few sets tell no difference of one row",
]


def to_dict(found: Sequence[Assumed]) -> dict[str, Any]:
    """Return all numbers, ready for JSON."""
    return {
        "schema_version": 1,
        "assumptions": [
            {
                "name": each.name,
                "title": each.title,
                "without": each.left_out,
                "workload": each.workload,
                "rows_that_hold": each.held,
                "runs": each.runs,
                "hung": list(each.hung),
                "places": [dict(zip(COLUMNS[3:], line[3:], strict=True)) for line in _lines(each)],
            }
            for each in found
        ],
        "hangs_on": hangs_on(found),
    }


def write(found: Sequence[Assumed], folder: Path) -> None:
    """Write the table of all places into a folder."""
    with whole_file(folder / ASSUMED) as built, built.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        for each in found:
            lines.writerows([_written(value) for value in line] for line in _lines(each))


def _lines(each: Assumed) -> Iterator[list[Any]]:
    for row in each.rows:
        target = row.target
        for score in row.cells:
            yield [
                each.name,
                each.left_out,
                each.workload,
                target.id,
                target.fitted,
                score.cell.label,
                score.cell.level,
                target.unit,
                *target.band,
                score.median,
                len(score.values),
                score.share,
                score.holds,
                score is row.deciding,
                row.holds,
            ]


def _written(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


def _cell(settings: ClusterSettings, row: RowScore) -> Text:
    score = row.deciding
    held = sum(cell.holds for cell in row.cells)
    number = f"{quantity(row.target, score.median)} , {where(settings, row)}"
    text = f"{number}, {shown_share(score)}; {held}/{len(row.cells)}"
    return Text(text, style="" if row.holds else "red")


def _of(each: Assumed, *, fitted: bool) -> str:
    rows = [row for row in each.rows if row.target.fitted is fitted]
    return f"{sum(row.holds for row in rows)} of {len(rows)}"


def _places(each: Assumed) -> str:
    cells = [cell for row in each.rows for cell in row.cells]
    return f"{sum(cell.holds for cell in cells)} of {len(cells)}"
