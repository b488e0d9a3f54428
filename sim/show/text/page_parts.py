"""What every page is made of: the line on top, tables, facts behind their names, notes at the foot."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base.errors import escaped
from sim.show.text.page_table import PageTable

NOTHING_SERVED = "No request was served: there is nothing to measure."


def heading(title: str, detail: str) -> RenderableType:
    """Return the line on top: the title on the left, a detail on the right."""
    line = PageTable.grid(padding=(0, 2, 0, 0), expand=True)
    line.add_column(style="bold")
    line.add_column(justify="right", style="dim")
    line.add_row(Text(escaped(title)), Text(detail))
    return line


def table(*columns: str) -> PageTable:
    """Return an empty table: a column of names, then columns of numbers."""
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        grid.add_column(column, justify="right", no_wrap=True)
    return grid


def pairs(facts: Mapping[str, str]) -> RenderableType:
    """Return facts below each other, behind their names."""
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for name, fact in facts.items():
        grid.add_row(Text(name, style="dim"), fact)
    return grid


def footnotes(*groups: Iterable[str], warnings: Iterable[str] = ()) -> RenderableType:
    """Return notes as a list, after an empty line if there are any; what would mislead comes first."""
    lines = PageTable.grid(padding=(0, 1))
    for warning in warnings:
        lines.add_row(Text("!"), Text(warning), style="bold yellow")
    for note in (note for group in groups for note in group):
        lines.add_row(Text("·"), Text(note), style="dim")
    return Group(Text(), lines) if lines.row_count else Text()


def thin_note(thin_percentiles: Sequence[str]) -> list[str]:
    """Return what the asterisk means, if there is one."""
    return ["* fewer than ten samples expected beyond this percentile"] if thin_percentiles else []
