"""What a person reads of numbers that are printed one by one, made for a terminal of 100 columns."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isinf

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.published.measures import label, level_text
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.show_rows import band, interval, quantity
from sim.published.static import StaticScore
from sim.published.targets import Target
from sim.published.verdicts import ABVerdict, Counted, Error, counted, error
from sim.show.text.page_parts import table


def printed_table(settings: ClusterSettings, rows: Sequence[RowScore]) -> Table:
    """Return a line for each row, under what its number is."""
    scale = settings.scale if settings.level else ""
    lines = table("", scale, "measured", "simulated", "error", "95 % of runs", "")
    by_metric: dict[str, list[RowScore]] = {}
    for row in rows:
        by_metric.setdefault(row.target.number, []).append(row)
    for metric, of_metric in by_metric.items():
        lines.add_row(Text(label(metric), style="bold"))
        for row in of_metric:
            target, score = row.target, row.deciding
            lines.add_row(
                f"  {settings.called(target.configurations[0])}{'*' if target.fitted else ''}",
                level_text(target.level),
                band(target),
                quantity(target, score.median),
                error_text(error(target, score.median)),
                interval(target, score.interval),
                verdict(row),
            )
    return lines


def verdict(row: RowScore) -> Text:
    """Return whether a row is within its tolerance."""
    if row.deciding.median is None:
        return Text("no number", style="bold red")
    return Text("within") if row.holds else Text("outside", style="bold red")


def error_text(found: Error | None) -> str:
    """Return "+8 %" or "-2.1 points"."""
    if found is None:
        return words.MISSING
    return f"{found.size:+.1f} points" if found.points else f"{100 * found.size:+.0f} %"


def counted_lines(static: Sequence[StaticScore], rows: Sequence[RowScore]) -> list[str]:
    """Return how many rows are within, all of them and of each kind, with their median errors."""
    kinds = {
        "": (static, rows),
        "fitted": (
            [row for row in static if row.target.fitted],
            [row for row in rows if row.target.fitted],
        ),
        "predicted": (
            [row for row in static if not row.target.fitted],
            [row for row in rows if not row.target.fitted],
        ),
    }
    lines = []
    for name, (some_static, some) in kinds.items():
        found = counted(some_static, some)
        if found.rows or not name:
            what = f"{name} rows" if name else "rows"
            lines.append(f"{found.within} of {found.rows} {what} within tolerance{_median_text(found)}")
    return lines


def _median_text(found: Counted) -> str:
    text = median_errors(found)
    return f", median error {text}" if text != words.MISSING else ""


def median_errors(found: Counted) -> str:
    """Return "8.1 %", "1.4 points" of shares, or both; "none" where most have no number."""
    parts = []
    for value, shown in ((found.median_error, "{:.1%}"), (found.median_points, "{:.1f} points")):
        if value is not None:
            parts.append("none" if isinf(value) else shown.format(value).replace("%", " %"))
    return ", ".join(parts) or words.MISSING


def ab_table(settings: ClusterSettings, verdicts: Sequence[ABVerdict]) -> RenderableType:
    """Return a line for each number of every A/B pair, under the pair."""
    scale = settings.scale if settings.level else ""
    lines = table("", scale, "measured", "simulated", "sign")
    for title, of_pair in groupby(verdicts, key=lambda one: one.pair.title):
        lines.add_row(Text(title, style="bold"))
        for one in of_pair:
            lines.add_row(
                f"  {label(one.target.number)}",
                level_text(one.level),
                part(one.printed),
                part(one.simulated),
                Text("right") if one.right else Text("wrong", style="bold red"),
            )
    right = sum(one.right for one in verdicts)
    return Group(lines, Text(f"{right} of {len(verdicts)} A/B signs right", style="bold"))


def part(difference: float | None) -> str:
    """Return a part of a number with its sign: "+8 %"."""
    return words.MISSING if difference is None else f"{100 * difference:+.0f} %"


def misses(
    settings: ClusterSettings, static: Sequence[StaticScore], rows: Sequence[RowScore]
) -> Iterator[str]:
    """Yield a sentence for every row that is outside."""
    for one in static:
        if not one.holds:
            yield f"{one.target.name}: {_against(one.target, one.value)}"
    for row in rows:
        if not row.holds:
            target = row.target
            name = label(target.number) if target.printed is not None else target.name
            yield f"{name}, {where(settings, row)}: {_against(target, row.deciding.median)}"


def wrong_signs(settings: ClusterSettings, verdicts: Sequence[ABVerdict]) -> Iterator[str]:
    """Yield a sentence for every A/B sign that is wrong."""
    for one in verdicts:
        if not one.right:
            at = f" at {level_text(one.level)} {settings.scale}" if one.level is not None else ""
            found = "no number" if one.simulated is None else f"simulated {part(one.simulated)}"
            yield (
                f"sign of {label(one.target.number)}, {one.pair.title}{at}: measured "
                f"{part(one.printed)}, {found}"
            )


def where(settings: ClusterSettings, row: RowScore) -> str:
    """Return the place that decides: "8 workers at 40 requests/s", "2p6d less agg8 at 20 sessions"."""
    cell = row.deciding.cell
    names = list(dict.fromkeys(settings.called(point.configuration) for point in cell.points))
    name = " less ".join(names[::-1]) if row.target.combine == "difference" else " / ".join(names)
    return name if cell.level is None else f"{name} at {level_text(cell.level)} {settings.scale}"


def _against(target: Target, simulated: float | None) -> str:
    if simulated is None:
        return f"measured {band(target)}, no number simulated"
    off = error(target, simulated)
    text = f" ({error_text(off)})" if off else ""
    return f"measured {band(target)}, simulated {quantity(target, simulated)}{text}"
