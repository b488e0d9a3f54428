"""What a person reads after a search for cluster sizes."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.shown import WIDTH
from sim.base.units import format_bytes, plural
from sim.results.lateness import LATE
from sim.results.phases import left_out_of
from sim.results.quantities import label, unit, written_limit
from sim.runs.sizing import Sized
from sim.runs.tried import BESIDE, Tried
from sim.show.text.comparison import folded
from sim.show.text.page_parts import footnotes, heading, table
from sim.show.text.repeats import trace_note

_MOST_ROWS = 12


def render_sized(sized: Sized) -> RenderableType:
    """Return the smallest clusters and everything that was tried, ready to print."""
    limits = " and ".join(map(written_limit, sized.limits))
    sessions = f" at {sized.sessions} {plural(sized.sessions, 'session')}" if sized.sessions else ""
    seeds = sized.seeds
    return Group(
        heading(
            f"{sized.scenario}: clusters with {limits}{sessions}",
            f"{len(sized.tried)} tried, seeds {', '.join(map(str, seeds))}",
        ),
        Text(),
        _clusters(sized),
        Text(),
        _tried(sized),
        footnotes(_notes(sized), warnings=sized.warnings()),
    )


def _clusters(sized: Sized) -> Table:
    shown = sized.shown[:_MOST_ROWS]
    numbers = [*dict.fromkeys(limit.metric for limit in sized.limits), *BESIDE]
    if LATE not in [limit.metric for limit in sized.limits] and not any(tried.mean(LATE) for tried in shown):
        numbers.remove(LATE)
    incomplete = any(tried.not_completed for tried in shown)
    headers = ["host RAM a worker", "in all", "margin", *map(label, numbers)]
    headers += ["not completed"] if incomplete else []
    if sum(len(header) + 2 for header in ("GPUs", "aggregated", *headers)) > WIDTH:
        headers = [*map(folded, headers)]
    rows = table("GPUs", "layout", *headers)
    for tried in shown:
        layout, host_bytes = tried.configuration
        rows.add_row(
            f"{layout.gpus:4}" + (" !" if tried.holds and tried.broken_from_due else ""),
            str(layout) if layout.decode or layout.parallel.gpus > 1 else "aggregated",
            format_bytes(host_bytes) if host_bytes else "none",
            format_bytes(tried.configuration.total_host_bytes) if host_bytes else "none",
            words.percent(tried.margin),
            *(unit(metric).show(tried.mean(metric)) for metric in numbers),
            *([words.number(tried.not_completed)] if incomplete else []),
        )
    return rows


def _tried(sized: Sized) -> Table:
    rows = table("Tried", "host RAM a worker", "holds", "does not hold")
    for column in rows.columns[2:]:
        column.justify, column.no_wrap = "left", False
    groups: dict[tuple[str, int], tuple[list[Tried], list[Tried]]] = {}
    for tried in sorted(sized.tried, key=lambda tried: tried.configuration.layout.gpus):
        kind = tried.configuration.layout.kind
        groups.setdefault((kind, tried.configuration.host_bytes), ([], []))[not tried.holds].append(tried)
    for (kind, host_bytes), sides in sorted(groups.items()):
        texts = (" ".join(str(tried.configuration.layout) for tried in side) for side in sides)
        rows.add_row(kind, format_bytes(host_bytes) if host_bytes else "none", *texts, style="dim")
    return rows


def _notes(sized: Sized) -> Iterator[str]:
    if not sized.smallest:
        yield "none of these clusters holds; above are those that come nearest"
        if all(tried.not_completed for tried in sized.tried):
            yield "a cluster holds only if every request completes; here none completes all"
    yield "margin: of the worst seed, as a share of the limit; the other numbers are means over the seeds"
    yield (
        "by bisection, as if more workers were always better; then one and two fewer, or half of the most if "
        "that does not hold; of split ones also a prefill or a decode worker less; shown are those beside "
        "which none of their kind needs no more GPUs and host RAM"
    )
    once = sum(len(tried.runs) < len(sized.seeds) for tried in sized.tried)
    if once:
        some = f"{once} {plural(once, 'cluster')} did not hold with seed {sized.seeds[0]}"
        yield f"{some}, and {'was' if once == 1 else 'were'} not run with the others"
    yield f"split clusters fill nodes of {sized.gpus_per_node} GPUs in order, prefill workers first"
    for error in dict.fromkeys(run.error for tried in sized.tried for run in tried.runs if run.error):
        yield f"failed: {error}"
    runs = (run for tried in sized.tried for run in tried.runs)
    yield from left_out_of([run.summary for run in runs if run.summary is not None])
    settings = (run.settings for tried in sized.tried for run in tried.runs)
    yield from trace_note(sized.seeds, (found.get("workload", {}) for found in settings))
    notes = [run.notes for tried in sized.tried for run in tried.runs if run.summary is not None]
    yield from (note for note in (notes[0] if notes else ()) if all(note in other for other in notes))
