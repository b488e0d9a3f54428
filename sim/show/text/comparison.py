"""What a person reads after a comparison: numbers side by side, and how far each is from the first scenario.

One row for each number and point, a column for each scenario; below it the bands, if coefficients were drawn.
Differences and ratios stand beside two scenarios, and in tables of their own below more.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.shown import WIDTH
from sim.base.words import exactly
from sim.results.quantities import label, unit
from sim.results.refusals import nothing_served
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Row
from sim.runs.paired import LEAST_PAIRS, Estimate
from sim.runs.spread import CONFIDENCE
from sim.runs.unlike import warnings_of, with_lost
from sim.show.text.common_notes import common_notes
from sim.show.text.page_parts import NOTHING_SERVED, UNEQUAL, align_unequal, footnotes, heading, thin_note
from sim.show.text.page_table import ByWidth, PageTable
from sim.show.text.repeats import BAND_WORDS, few_note, runs_text
from sim.show.text.versions import rules_line

_LABEL_WIDTH = 26
_BANDED_LABEL_WIDTH = 17
_HEADER_WIDTH = 16
_GAP = 2


def render_comparison(comparison: Comparison, metrics: Sequence[str]) -> RenderableType:
    """Return a comparison of these numbers, ready to print."""
    first, *others = comparison.scenarios
    head = heading(f"Compared with {first}" if others else first, runs_line(comparison))
    about = Group(head, *rules_line(comparison.summaries), _titles(comparison))
    if nothing_served(comparison.summaries):
        return Group(about, Text(), NOTHING_SERVED, footnotes(warnings=warnings_of(comparison)))
    rows = list(comparison.rows(with_lost(comparison, metrics)))
    return Group(
        about,
        ByWidth(WIDTH, lambda width: _tables(comparison, rows, width)),
        footnotes(
            _band_note(comparison) if comparison.has_bands else _paired_note(comparison),
            thin_note([name for row in rows for name in row.thin]),
            _left_out_note(comparison),
            _fewer_note(comparison, rows),
            _differing_inputs(comparison),
            common_notes(comparison),
            warnings=warnings_of(comparison),
        ),
    )


def runs_line(comparison: Comparison) -> str:
    """Return which seeds and draws the numbers are of."""
    if comparison.has_bands:
        return f"medians of {runs_text(comparison.seeds, comparison.draws)}"
    some = runs_text(comparison.seeds)
    return some if len(comparison.seeds) == 1 else f"means of {some}"


def _titles(comparison: Comparison) -> RenderableType:
    grid = PageTable.grid(padding=(0, _GAP, 0, 0))
    for name in comparison.scenarios:
        run = next(run for run in comparison.runs if run.scenario == name)
        grid.add_row(Text(name, style="bold"), Text(run.settings.get("title", "")))
    return grid


def _tables(comparison: Comparison, rows: Sequence[Row], width: int) -> Iterator[RenderableType]:
    """Yield tables of all scenarios in lines of so many cells, each after an empty line."""
    _, *others = comparison.scenarios
    if len(others) == 1:
        tables = [_table(comparison, rows, comparison.scenarios, others[0])]
    else:
        tables = [_table(comparison, rows, names) for names in _pages(comparison, rows, width)]
        tables += [_table(comparison, rows, (), other) for other in others]
    for table in tables:
        yield from (Text(), table)


def _table(
    comparison: Comparison, rows: Sequence[Row], names: Sequence[str], against_first: str = ""
) -> PageTable:
    """Return the values of some scenarios, and one scenario's distance from the first if it is named."""
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    grid.add_column("")
    headers = [folded(name) for name in (*key_headers(comparison.keys), *names)]
    if against_first:
        headers += [_pair(against_first, sign, comparison.scenarios[0]) for sign in "-/"]
    for header in headers:
        grid.add_column(Text(header), justify="right", no_wrap=True)
    swept = len(comparison.points) > 1
    label_width = _BANDED_LABEL_WIDTH if comparison.has_bands else _LABEL_WIDTH if swept else WIDTH
    marks = max((len(_marks(comparison, row, name)) for row in rows for name in names), default=0)
    for metric, group in groupby(rows, key=lambda row: row.metric):
        # With points or bands, a long label goes on beside the next line.
        lines = wrap(label(metric), label_width)
        if swept and grid.row_count:
            grid.add_row()
        for row in group:
            name = Text(lines.pop(0) if lines else "")
            grid.add_row(name, *_cells(comparison, row, names, against_first, marks))
            if comparison.has_bands:
                name = Text(lines.pop(0) if lines else "")
                grid.add_row(name, *_band_cells(comparison, row, names, against_first, marks), style="dim")
        for line in lines:
            grid.add_row(Text(line))
    return align_unequal(grid)


def _cells(
    comparison: Comparison, row: Row, names: Sequence[str], against_first: str, marks: int
) -> Iterator[str | Text]:
    shown = unit(row.metric)
    for key, value in zip(comparison.keys, row.point, strict=True):
        yield Text(comparison.written(key, value), style="dim")
    for name in names:
        yield _value_texts(comparison, row, name)[0] + _marks(comparison, row, name).ljust(marks)
    if against_first:
        difference, ratio = row.differences[against_first], row.ratios[against_first]
        seeds = not comparison.has_bands
        half = _half_width(difference, shown.show_difference) if seeds else ""
        ends = _ends(ratio) if seeds else ""
        yield _distance(difference, shown.show_difference, half, 0.0, plus="+")
        yield _distance(ratio, words.number, ends, 1.0)


def _band_cells(
    comparison: Comparison, row: Row, names: Sequence[str], against_first: str, marks: int
) -> Iterator[str | Text]:
    """Yield what stands below each of `_cells`: the band of its draws."""
    shown = unit(row.metric)
    yield from [""] * len(comparison.keys)
    for name in names:
        yield _value_texts(comparison, row, name)[1] + " " * marks
    if against_first:
        difference, ratio = row.differences[against_first], row.ratios[against_first]
        yield Text(words.between(difference.low, difference.high, shown.show_difference))
        yield Text(words.between(ratio.low, ratio.high, words.number))


def _marks(comparison: Comparison, row: Row, name: str) -> str:
    return ("†" if has_fewer(comparison, row, name) else "") + ("*" if name in row.thin else "")


def _distance(
    estimate: Estimate, shown: Callable[[float | None], str], width: str, equal: float, plus: str = ""
) -> Text:
    """Return an estimate and how wide its interval is: marked if that leaves out what equals have."""
    if estimate.value is None:
        return Text(words.MISSING, style="dim")
    text = (plus if estimate.value > 0 else "") + shown(estimate.value)
    if estimate.excludes(equal):
        return Text(text + width + UNEQUAL, style="bold")
    return Text(text + width, style="" if estimate.high is None else "dim")


def _half_width(estimate: Estimate, shown: Callable[[float | None], str]) -> str:
    if not is_wide(estimate):
        return ""
    assert estimate.value is not None
    assert estimate.high is not None
    return f" ± {shown(estimate.high - estimate.value)}"


def _ends(estimate: Estimate) -> str:
    return f" ({words.between(estimate.low, estimate.high, words.number)})" if is_wide(estimate) else ""


def is_wide(estimate: Estimate) -> bool:
    """Whether an interval is wider than what is left of sums that cancel out."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low > 2e-9 * abs(estimate.value)


def has_fewer(comparison: Comparison, row: Row, name: str) -> bool:
    """Whether a value is missing for some seeds or draws, but not for all."""
    return 0 < row.spreads[name].n < comparison.cases


def key_headers(keys: Sequence[str]) -> list[str]:
    """Return the last part of each key where that tells them apart."""
    short = [key.rpartition(".")[2] for key in keys]
    return short if len(set(short)) == len(keys) else list(keys)


def folded(header: str) -> str:
    """Break a long header where names have their joints."""
    return "\n".join(part.replace("_ ", "_") for part in wrap(header.replace("_", "_ "), _HEADER_WIDTH))


def _pair(other: str, sign: str, first: str) -> str:
    header = f"{other} {sign} {first}"
    return header if len(header) <= _HEADER_WIDTH else f"{folded(other)}\n{folded(f'{sign} {first}')}"


def _pages(comparison: Comparison, rows: Sequence[Row], width: int) -> Iterator[tuple[str, ...]]:
    """Yield as many scenarios as fit beside each other, the first one on every page."""
    first, *others = comparison.scenarios
    widths = {name: _width(comparison, rows, name) for name in comparison.scenarios}
    keys = sum(
        _GAP + max(len(header), *(len(comparison.written(key, point[place])) for point in comparison.points))
        for place, (key, header) in enumerate(zip(comparison.keys, key_headers(comparison.keys), strict=True))
    )
    room = width - _LABEL_WIDTH - _GAP - keys - widths[first]
    page: list[str] = []
    for name in others:
        if page and sum(widths[shown] for shown in page) + widths[name] > room:
            yield (first, *page)
            page = []
        page.append(name)
    yield (first, *page)


def _width(comparison: Comparison, rows: Sequence[Row], name: str) -> int:
    cells = [
        max(map(len, _value_texts(comparison, row, name))) + len(_marks(comparison, row, name))
        for row in rows
    ]
    return _GAP + max(*map(len, folded(name).splitlines()), *cells, 0)


def _value_texts(comparison: Comparison, row: Row, name: str) -> tuple[str, str]:
    """Return what is shown of a number: its middle, and below that its band or nothing."""
    shown, spread = unit(row.metric).show, row.spreads[name]
    return shown(spread.middle), words.between(spread.low, spread.high, shown) if comparison.has_bands else ""


def _paired_note(comparison: Comparison) -> list[str]:
    if len(comparison.scenarios) == 1:
        return []
    level = f"{100 * CONFIDENCE:.0f} %"
    if len(comparison.seeds) < LEAST_PAIRS:
        return [f"no intervals: they take {exactly(LEAST_PAIRS, 'seed')} or more"]
    return [
        f"± is half of a {level} interval over the seeds, paired by seed, and of ratios it is in brackets; "
        f"bold and {UNEQUAL}: equal is outside of it"
    ]


def _band_note(comparison: Comparison) -> list[str]:
    notes = [f"below each number: {BAND_WORDS}"]
    if len(comparison.scenarios) > 1:
        notes.append(
            f"differences and ratios are paired by draw; bold and {UNEQUAL}: equal is outside of the band"
        )
    return notes + few_note(comparison.draws)


def _left_out_note(comparison: Comparison) -> list[str]:
    """Say which runs no number is of, because another scenario has none with their seed and draw."""
    found: dict[str, set[int]] = {}
    for run in comparison.runs:
        if not comparison.is_compared(run):
            found.setdefault(run.scenario, set()).add(run.seed)
    if not comparison.has_pairs:
        return ["no seed and draw is common to all scenarios: means of different runs, and no differences"]
    if not found:
        return []
    which = "; ".join(f"of {name} {runs_text(sorted(seeds))}" for name, seeds in found.items())
    return [f"without runs that not all scenarios have: {which}"]


def _fewer_note(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    if any(has_fewer(comparison, row, name) for row in rows for name in comparison.scenarios):
        return ["† without some of the runs: nothing was measured there"]
    return []


def _differing_inputs(comparison: Comparison) -> list[str]:
    """Return what is not the same for all scenarios although only then a comparison is fair."""
    first, *others = comparison.scenarios
    notes = []
    for other in others:
        for section in ("workload", "replay"):
            if any(
                left.settings.get(section) != right.settings.get(section)
                for point in comparison.points
                for left, right in zip(
                    comparison.runs_at(first, point), comparison.runs_at(other, point), strict=False
                )
            ):
                notes.append(f"[{section}] of {other} is not that of {first}: what was sent differs")
    return notes
