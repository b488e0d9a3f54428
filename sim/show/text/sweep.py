"""What a person reads after a sweep: a row for each point, a column for each number."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import exactly
from sim.results.quantities import label, unit
from sim.results.refusals import nothing_served
from sim.runs.comparison_rows import Row
from sim.runs.paired import LEAST_PAIRS
from sim.runs.spread import CONFIDENCE
from sim.runs.sweep import SHOWN, Sweep
from sim.runs.unlike import warnings_of, with_late, with_lost
from sim.show.text.common_notes import common_notes
from sim.show.text.comparison import folded, key_headers, runs_line
from sim.show.text.page_parts import NOTHING_SERVED, footnotes, heading, thin_note
from sim.show.text.page_table import PageTable
from sim.show.text.repeats import BAND_WORDS, few_note
from sim.show.text.versions import rules_line

_GAP = 2


def render_sweep(sweep: Sweep, metrics: Sequence[str]) -> RenderableType:
    """Return these numbers at every point of a sweep, ready to print."""
    sweep = sweep.shown()
    (name,) = sweep.scenarios
    title = next((run.settings.get("title", "") for run in sweep.runs), "")
    head = Group(heading(f"{name}  {title}", runs_line(sweep)), *rules_line(sweep.summaries))
    if nothing_served(sweep.summaries):
        return Group(head, Text(), NOTHING_SERVED, footnotes(warnings=warnings_of(sweep)))
    late = with_late(sweep, metrics) if list(metrics) == list(SHOWN) else metrics
    columns = {metric: list(sweep.rows([metric])) for metric in with_lost(sweep, late)}
    return Group(
        head,
        Text(),
        _table(sweep, columns),
        footnotes(
            _interval_note(sweep),
            _missing_note(sweep, columns),
            thin_note([name for rows in columns.values() for row in rows for name in row.thin]),
            common_notes(sweep),
            warnings=warnings_of(sweep),
        ),
    )


def point_line(sweep: Sweep, metrics: Sequence[str]) -> str:
    """Return the means at a sweep's only point on one line."""
    (point,) = sweep.points
    where = ", ".join(
        f"{header}={sweep.written(key, value)}"
        for key, header, value in zip(sweep.keys, key_headers(sweep.keys), point, strict=True)
    )
    numbers = (
        f"{label(row.metric)} {unit(row.metric).show(mean.middle)}"
        for row in sweep.rows(with_lost(sweep, metrics))
        for mean in row.spreads.values()
    )
    return f"{where}: {', '.join(numbers)}"


def _table(sweep: Sweep, columns: dict[str, list[Row]]) -> PageTable:
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    grid.repeated, grid.narrows = len(sweep.keys), False
    for header in (*key_headers(sweep.keys), *map(label, columns)):
        grid.add_column(Text(folded(header)), justify="right", no_wrap=True)
    written = [_written(sweep, key) for key in sweep.keys]
    for place, point in enumerate(sweep.points):
        if place and len(point) > 1 and point[:-1] != sweep.points[place - 1][:-1] and not sweep.sampled:
            grid.add_row()
        keys = [Text(texts[place], style="dim") for texts in written]
        grid.add_row(*keys, *(_cell(sweep, rows[place]) for rows in columns.values()))
    return grid


def _written(sweep: Sweep, key: str) -> list[str]:
    """Return the values of a key at every point."""
    place = sweep.keys.index(key)
    return [sweep.written(key, point[place]) for point in sweep.points]


def _cell(sweep: Sweep, row: Row) -> str:
    """Return a mean with half its interval or a median with its band, and what a reader must know."""
    (mean,) = row.spreads.values()
    shown = unit(row.metric)
    text = shown.show(mean.middle)
    least = 2 if sweep.has_bands else LEAST_PAIRS
    if mean.n >= least and mean.low != mean.high:
        text += f" ({words.between(mean.low, mean.high, shown.show)})"
    return text + ("†" if mean.n < sweep.cases else "") + ("*" if row.thin else "")


def _interval_note(sweep: Sweep) -> list[str]:
    if sweep.has_bands:
        return [f"in brackets: {BAND_WORDS}", *few_note(sweep.draws)]
    if len(sweep.seeds) < LEAST_PAIRS:
        return [f"no intervals: they take {exactly(LEAST_PAIRS, 'seed')} or more"]
    return [f"in brackets: {100 * CONFIDENCE:.0f} % interval of the mean over the seeds"]


def _missing_note(sweep: Sweep, columns: dict[str, list[Row]]) -> list[str]:
    means = (mean for rows in columns.values() for row in rows for mean in row.spreads.values())
    if any(mean.n < sweep.cases for mean in means):
        return ["† without some of the runs: they failed, or nothing was measured there"]
    return []
