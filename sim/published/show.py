"""What a person reads of a validation against a published cluster, made for a terminal of 100 columns."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.units import plural
from sim.published.measures import Tolerance
from sim.published.result import Result
from sim.published.scores import CellScore, RowScore
from sim.published.static import StaticScore
from sim.published.study import Workload
from sim.published.targets import Target
from sim.show.text.summary import footnotes, heading, table

_SHOWN: dict[str, Callable[[float], str]] = {
    "s": words.seconds,
    "ms": lambda value: words.seconds(value / 1e3),
    "fraction": words.percent,
    "percent": lambda value: words.percent(value / 100),
    "tokens": words.count,
    "blocks": words.count,
    **dict.fromkeys(("ratio", "sessions", "workers"), words.number),
}


def render(found: Result) -> RenderableType:
    """Return all tables, ready to print."""
    parts: list[RenderableType] = [_static(found.static), Text()]
    for workload in found.study.plans.workloads:
        rows = found.dynamic[workload.name]
        head = heading(f"Workload: {workload.name}", _runs(workload))
        parts += [head, _dynamic(rows), _counted(rows), Text()]
    if len(found.study.plans.workloads) > 1:
        parts += [_overview(found), Text()]
    return Group(*parts, footnotes(_legend(found.targets.of_kind("dynamic")), found.notes))


def quantity(target: Target, value: float | None) -> str:
    """Return a row's number with its unit."""
    if value is None:
        return words.MISSING
    shown = _SHOWN.get(target.unit)
    text = shown(abs(value)) if shown else f"{abs(value):.4g} {target.unit}"
    return f"-{text}" if value < 0 else text


def band(target: Target) -> str:
    """Return what a row's number may be."""
    if (printed := target.one_number) is not None:
        return f"{quantity(target, printed)} {target.tolerance or Tolerance(0.0, points=False)}"
    low, high = target.band
    if low is None or high is None:
        return f"{'at most' if low is None else 'at least'} {quantity(target, high if low is None else low)}"
    if low == high:
        return quantity(target, low)
    return _range(target, low, high)


def place(score: CellScore) -> str:
    """Return where a number is of."""
    return score.cell.place


def interval(target: Target, ends: tuple[float, float] | None) -> str:
    """Return from where to where most runs are."""
    return words.MISSING if ends is None else _range(target, *ends)


def _range(target: Target, low: float, high: float) -> str:
    """Return "100 to 400 ms", or "948 ms to 3.29 s" where the units differ."""
    first, unit = quantity(target, low).partition(" ")[::2]
    last = quantity(target, high)
    return f"{first} to {last}" if last.partition(" ")[2] == unit else f"{first} {unit} to {last}"


def _runs(workload: Workload) -> str:
    seeds = {run.seed for run in workload.replicates}
    draws = {run.draw for run in workload.replicates} - {None}
    text = f"{len(seeds)} {plural(len(seeds), 'seed')}"
    return f"{text} x {len(draws)} draws of coefficients" if draws else text


def _static(rows: Sequence[StaticScore]) -> RenderableType:
    lines = table("Static rows", "target", "simulated", "from one draw to another", "")
    for row in rows:
        lines.add_row(
            row.target.id,
            band(row.target),
            quantity(row.target, row.value),
            interval(row.target, row.interval) if row.interval else "",
            _verdict(row.holds),
        )
    held = sum(row.holds for row in rows)
    return Group(lines, Text(f"{held} of {len(rows)} static rows hold", style="bold"))


def _dynamic(rows: Sequence[RowScore]) -> Table:
    lines = table("Row", "target", "median", "95 % of runs", "at", "places")
    for row in rows:
        score = row.deciding
        lines.add_row(
            row.target.id + ("*" if row.target.fitted else ""),
            band(row.target),
            quantity(row.target, score.median),
            interval(row.target, score.interval),
            place(score),
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
        lines.add_row(target.id + ("*" if target.fitted else ""), band(target), *cells)
    return lines


def _verdict(holds: bool, detail: str = "") -> Text:
    return Text(f"inside{detail}") if holds else Text(f"outside{detail}", style="bold red")


def _legend(targets: Sequence[Target]) -> list[str]:
    notes = [
        "median and 95 % of the runs are of the place that is furthest from the target (nearest, where one "
        "place is enough); a row is inside if the median is, at every place",
        "differences: second less first; their size is compared",
    ]
    if any(target.fitted for target in targets):
        notes.insert(0, "* may be fitted; all other rows are predictions, whatever the coefficients")
    return notes
