"""What every page is made of: the line on top, tables, facts behind their names, notes at the foot."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sim.base.errors import escaped
from sim.show.text.page_table import ByWidth, Ends, PageTable
from sim.show.text.prose import Prose

_ENDLESS = 10_000
_LEAST_REASON = 30
"""Cells below which a reason stands below its number, not beside it."""
UNEQUAL = "≠"
"""Behind what differs from what it is compared with, by its interval; such numbers are bold as well."""
NOTHING_SERVED = "No request was served: there is nothing to measure."


def heading(title: str, detail: str) -> RenderableType:
    """Return the line on top: the title on the left, a detail on the right."""
    return Ends(escaped(title), detail)


def table(*columns: str) -> PageTable:
    """Return an empty table: a column of names, then columns of numbers."""
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        grid.add_column(column, justify="right", no_wrap=True)
    return grid


def align_unequal(grid: PageTable) -> PageTable:
    """Put blanks behind the texts of columns in which others end in `UNEQUAL`; returns the table."""
    for column in grid.columns:
        cells = [cell for cell in column.cells if isinstance(cell, Text)]
        if any(cell.plain.endswith(UNEQUAL) for cell in cells):
            for cell in cells:
                if cell and not cell.plain.endswith(UNEQUAL):
                    cell.append(" " * len(UNEQUAL))
    return grid


def pairs(facts: Mapping[str, str]) -> RenderableType:
    """Return facts below each other, behind their names."""
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for name, fact in facts.items():
        grid.add_row(Text(name, style="dim"), fact)
    return grid


def reckoned(lines: Sequence[tuple[str, str, str]]) -> RenderableType:
    """Return names, numbers and how each comes about, below them where it has little room beside them."""
    return ByWidth(_ENDLESS, lambda width: _reckoned(lines, width))


def _reckoned(lines: Sequence[tuple[str, str, str]], width: int) -> Iterator[RenderableType]:
    names, values = (max(len(line[place]) for line in lines) for place in (0, 1))
    if width - names - values - 4 < _LEAST_REASON:
        for name, value, reason in lines:
            yield Text(f"{name:{names}}  {value:>{values}}")
            yield Padding(Prose(reason, style="dim"), (0, 0, 0, 4))
        return
    table = PageTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column()
    for line in lines:
        table.add_row(*line)
    yield table


def footnotes(*groups: Iterable[str], warnings: Iterable[str] = ()) -> RenderableType:
    """Return notes as a list, after an empty line if there are any; what would mislead comes first."""
    lines = PageTable.grid(padding=(0, 1))
    for warning in warnings:
        lines.add_row(Text("!"), Prose(warning), style="bold yellow")
    for note in (note for group in groups for note in group):
        lines.add_row(Text("·"), Prose(note), style="dim")
    return Group(Text(), lines) if lines.row_count else Text()


def thin_note(thin_percentiles: Sequence[str]) -> list[str]:
    """Return what the asterisk means, if there is one."""
    return ["* fewer than ten samples expected beyond this percentile"] if thin_percentiles else []
