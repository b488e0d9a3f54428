"""What a person reads of a validation against a published cluster, made for a terminal of 100 columns."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base.words import exactly
from sim.published.result import Result
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.show_printed import ab_table, counted_lines, printed_table, where
from sim.published.show_rows import band, interval, quantity, shown_share
from sim.published.static import StaticScore
from sim.published.study import Workload
from sim.published.targets import Target
from sim.show.text.page_parts import footnotes, heading, table
from sim.show.text.versions import rules_line


def render(found: Result) -> RenderableType:
    """Return all tables, ready to print."""
    parts: list[RenderableType] = [*rules_line([{"versions": found.study.versions}])]
    parts += [_static(found.static), Text()] if found.static else []
    several = len(found.study.plans.workloads) > 1
    for workload in found.study.plans.workloads:
        rows = found.dynamic[workload.name]
        parts += [
            heading(f"Workload: {workload.name}", _runs(workload)),
            *_rows(found, workload.name),
            Text(),
        ]
        if any(row.target.printed is not None for row in rows):
            parts += [Text(text, style="bold") for text in counted_lines(found.static, rows)] + [Text()]
        if verdicts := found.pairs(workload.name):
            parts += [ab_table(found.cluster.settings, verdicts), Text()]
    if several:
        parts += [_overview(found), Text()]
    return Group(*parts, footnotes(_legend(found.targets.of_kind("dynamic")), found.notes))


def _rows(found: Result, workload: str) -> Iterator[RenderableType]:
    """Yield the tables of a workload: of numbers that are printed, of ranges and relations."""
    rows = found.dynamic[workload]
    printed = [row for row in rows if row.target.printed is not None]
    others = [row for row in rows if row.target.printed is None]
    if printed:
        yield printed_table(found.cluster.settings, printed)
    if others or not printed:
        yield _dynamic(found.cluster.settings, others)
        yield _counted(others)


def _runs(workload: Workload) -> str:
    seeds = {run.seed for run in workload.replicates}
    draws = {run.draw for run in workload.replicates} - {None}
    sets = {run.set for run in workload.replicates} - {None}
    each = len(seeds) // (len(sets) or 1)
    text = exactly(each, "seed")
    if sets:
        text = f"{exactly(len(sets), 'set')} of sessions x {text}"
    return f"{text} x {exactly(len(draws), 'draw')} of coefficients" if draws else text


def _static(rows: Sequence[StaticScore]) -> RenderableType:
    lines = table("Static rows", "target", "simulated", "from one draw to another", "")
    for row in rows:
        lines.add_row(
            row.target.name,
            band(row.target),
            quantity(row.target, row.value),
            interval(row.target, row.interval) if row.interval else "",
            _verdict(row.holds),
        )
    held = sum(row.holds for row in rows)
    return Group(lines, Text(f"{held} of {len(rows)} static rows hold", style="bold"))


def _dynamic(settings: ClusterSettings, rows: Sequence[RowScore]) -> Table:
    lines = table("Row", "target", "median", "95 % of runs", "inside", "where", "places")
    for row in rows:
        score = row.deciding
        lines.add_row(
            row.target.name + ("*" if row.target.fitted else ""),
            band(row.target),
            quantity(row.target, score.median),
            interval(row.target, score.interval),
            shown_share(score),
            where(settings, row),
            _verdict(row.holds, f" {sum(score.holds for score in row.cells)}/{len(row.cells)}"),
        )
    return lines


def _counted(rows: Sequence[RowScore]) -> Text:
    fitted = [row for row in rows if row.target.fitted]
    predicted = [row for row in rows if not row.target.fitted]
    return Text(
        f"{_of(rows)} dynamic rows hold: {_of(fitted)} that may be fitted, {_of(predicted)} others",
        style="bold",
    )


def _of(rows: Sequence[RowScore]) -> str:
    return f"{sum(row.holds for row in rows)} of {len(rows)}"


def _overview(found: Result) -> Table:
    """Return a line for each row, a column for each workload."""
    lines = table("All workloads", "target", *found.dynamic)
    for rows in zip(*found.dynamic.values(), strict=True):
        target = rows[0].target
        cells = [
            _verdict(row.holds, f" {sum(score.holds for score in row.cells)}/{len(row.cells)}")
            for row in rows
        ]
        lines.add_row(target.name + ("*" if target.fitted else ""), band(target), *cells)
    return lines


def _verdict(holds: bool, detail: str = "") -> Text:
    return Text(f"inside{detail}") if holds else Text(f"outside{detail}", style="bold red")


def _legend(targets: Sequence[Target]) -> list[str]:
    notes = []
    if any(target.printed is None for target in targets):
        notes += [
            "median and 95 % of the runs are of the place that is furthest from the target (nearest, where "
            "one place is enough), inside: how many of the runs, or sets of sessions, are; a row is inside "
            "if the median is, at every place",
            "differences: second less first; their size is compared",
        ]
    if any(target.printed is not None for target in targets):
        notes.append(
            "simulated: the median run; what has no number counts as outside, and as an error without end"
        )
    if any(target.fitted for target in targets):
        notes.insert(0, "* may be fitted; all other rows are predictions, whatever the coefficients")
    return notes
