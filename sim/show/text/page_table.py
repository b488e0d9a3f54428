"""Tables and pairs of tables of which no terminal cuts anything off."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

Kind = TypeVar("Kind", bound=Table)

_ENDLESS = 100_000
_NARROW_GAP = 1
_HEADER_WIDTHS = (_ENDLESS, 12, 9, 6, 1)
"""Where headers fold, but for words and cells that are wider: the first of these that is narrow enough."""
_LONG_WORD = 24
"""Longer words may be broken where a column has no room for them."""
_PART_HEADER_WIDTH = 12
"""Where headers fold in tables that go on below each other, but for words and cells that are wider."""
NARROW = 100
"""Terminals of fewer columns get no bars, and parts side by side only where nothing in them wraps."""


class Bar(Text):
    """A drawing of a number that stands beside it: a narrow terminal does without."""


class PageTable(Table):
    """A table without lines: as wide as it needs to be where there is room, nothing of it cut where not.

    There bars go, and headers go over several lines, all but the first, which is a title; if that is not
    enough gaps are narrower; if that is not, columns go on in tables below, each with the `repeated` first
    ones again.
    """

    repeated = 1
    narrows = True
    """Otherwise columns go on below at once."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            column.overflow = "fold"
        if console.width < NARROW and any(map(_is_drawn, self.columns)):
            yield self._without_bars()
            return
        shapes = self._shapes() if self.show_header else [self]
        fitting = next((shape for shape in shapes if _least(shape, console) <= options.max_width), None)
        if fitting is self or not self.show_header:
            yield from super().__rich_console__(console, options)
        else:
            yield from [fitting] if fitting else _apart(self._parts(console, options.max_width))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        if console.width < NARROW and any(map(_is_drawn, self.columns)):
            return self._without_bars().__rich_measure__(console, options)
        measured = super().__rich_measure__(console, options)
        if not self.show_header:
            return measured
        return Measurement(min(_least(shape, console) for shape in self._shapes()), measured.maximum)

    def _without_bars(self) -> "PageTable":
        columns = [column for column in self.columns if not _is_drawn(column)]
        plain = _table(self, columns, self.padding[1], _ENDLESS, PageTable)
        plain.repeated, plain.narrows, plain.show_header = self.repeated, self.narrows, self.show_header
        return plain

    def _shapes(self) -> Iterator[Table]:
        """Yield this table, then the same in less room."""
        yield self
        if self.narrows:
            for gap in (self.padding[1], _NARROW_GAP):
                for header_width in _HEADER_WIDTHS:
                    yield _table(self, self.columns, gap, header_width, Table)

    def _parts(self, console: Console, room: int) -> Sequence[Table]:
        """Return as few tables as fit, about as many of the columns in each; where none fit texts wrap."""
        columns, gap = self.columns, self.padding[1]
        folded = _table(self, columns, gap, _PART_HEADER_WIDTH, Table)
        widths = [gap + width for width in _widths(folded, console)]
        left = room + gap - sum(widths[: self.repeated])
        each = others = max(len(columns) - self.repeated, 1)
        for count in range(2, others + 1):
            each = -(-others // count)
            if all(sum(widths[at : at + each]) <= left for at in range(self.repeated, len(columns), each)):
                break
        parts = [
            _table(
                self, [*columns[: self.repeated], *columns[at : at + each]], gap, _PART_HEADER_WIDTH, Table
            )
            for at in range(self.repeated, self.repeated + others, each)
        ]
        for part in parts:
            if _least(part, console) > room:
                part.padding = (0, _NARROW_GAP, 0, 0)
                for column in part.columns:
                    column.no_wrap = False
        return parts


class Ends:
    """A title at the left and a detail at the right, or below it where both have no room on one line."""

    def __init__(self, title: str, detail: str) -> None:
        self._title, self._detail = Text(title, style="bold"), Text(detail, style="dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        between = options.max_width - self._title.cell_len - self._detail.cell_len
        if between >= 2 and "\n" not in self._title.plain:
            yield Text.assemble(self._title, " " * between, self._detail)
        else:
            yield from (part for part in (self._title, self._detail) if part.plain)


class Answer:
    """The few numbers that a page is read for: side by side below their names, or a line each."""

    def __init__(self, numbers: Mapping[str, str]) -> None:
        self._numbers = numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = Table.grid(padding=(0, 5, 0, 0))
        beside.add_row(*self._numbers, style="dim")
        beside.add_row(*self._numbers.values(), style="bold green")
        if console.measure(beside, options=options.update(width=_ENDLESS)).maximum <= options.max_width:
            yield beside
            return
        below = Table.grid(padding=(0, 2, 0, 0))
        for name, number in self._numbers.items():
            below.add_row(Text(name, style="dim"), Text(number, style="bold green"))
        yield below


class Beside:
    """Parts side by side, or one below the other where the terminal is too narrow for that."""

    def __init__(self, *parts: RenderableType, gap: int = 2) -> None:
        self._parts, self._gap = parts, gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        endless = options.update(width=_ENDLESS)
        measured = [Measurement.get(console, endless, part) for part in self._parts]
        narrow = console.width < NARROW
        least = [part.maximum if narrow else part.minimum for part in measured]
        if sum(least) + self._gap * (len(least) - 1) > options.max_width:
            yield from _apart(self._parts)
        else:
            grid = Table.grid(padding=(0, self._gap, 0, 0))
            grid.add_row(*self._parts)
            yield grid


class ByWidth:
    """What is made for so many cells as the terminal is wide, but no more than `most`."""

    def __init__(self, most: int, made: Callable[[int], Iterable[RenderableType]]) -> None:
        self._most, self._made = most, made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._made(min(options.max_width, self._most))


def _apart(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield parts with empty lines between them."""
    for place, part in enumerate(parts):
        yield from (Text(), part) if place else (part,)


def _table(whole: Table, columns: Sequence[Column], gap: int, header_width: int, kind: type[Kind]) -> Kind:
    """Return some columns of a table with gaps and folded headers of their own."""
    table = kind(box=None, pad_edge=False, header_style=whole.header_style, padding=(0, gap, 0, 0))
    cells = []
    for place, column in enumerate(columns):
        # Blanks at the end are places for marks, which no cell need have.
        some = [cell.rstrip() if isinstance(cell, str) else cell for cell in column.cells]
        cells.append(some)
        table.add_column(
            _folded(column.header, some, header_width) if place else column.header,
            justify=column.justify,
            no_wrap=column.no_wrap,
            overflow="fold",
            min_width=column.min_width,
        )
    for row, renderables in zip(whole.rows, zip(*cells, strict=True), strict=True):
        table.add_row(*renderables, style=row.style)
    return table


def _is_drawn(column: Column) -> bool:
    """Whether a column holds bars, and nothing else."""
    cells = [cell for cell in column.cells if cell != ""]
    return bool(cells) and all(isinstance(cell, Bar) for cell in cells)


def _folded(header: RenderableType, cells: Sequence[RenderableType], width: int) -> Text:
    """Return a header over several lines, no wider than asked for, or than cells or its words are."""
    text = str(header)
    width = max(width, *map(len, [*text.split(), *map(str, cells)]))
    return Text("\n".join(line for part in text.splitlines() for line in wrap(part, width)))


def _least(table: Table, console: Console) -> int:
    """Return how wide a table must be for nothing of it to be cut."""
    return sum(_widths(table, console)) + table.padding[1] * (len(table.columns) - 1)


def _widths(table: Table, console: Console) -> list[int]:
    """Return how wide each column must be for nothing of it to be cut."""
    options, widths = console.options.update(width=_ENDLESS), []
    for column in table.columns:
        measured = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
        needed = (one.maximum if column.no_wrap else min(one.minimum, _LONG_WORD) for one in measured)
        widths.append(max(column.min_width or 0, *needed))
    return widths
