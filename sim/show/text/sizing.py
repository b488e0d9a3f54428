"""What a person reads after a search for cluster sizes."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.limits import Limit
from sim.base.words import exactly, format_bytes, plural
from sim.results.lateness import LATE
from sim.results.phases import left_out_of
from sim.results.quantities import label, unit, written_limit
from sim.runs.layouts import Configuration
from sim.runs.sizing import Sized
from sim.runs.tried import Tried
from sim.show.text.comparison import folded
from sim.show.text.floor import floor_notes, render_floor
from sim.show.text.page_parts import footnotes, heading, table
from sim.show.text.page_table import PageTable
from sim.show.text.prose import Prose
from sim.show.text.repeats import trace_note
from sim.show.text.versions import rules_line

_MOST_ROWS = 12
_MOST_TOLD = 4
"""So many of the clusters that are shown are said to be bound by what."""


def render_sized(sized: Sized) -> RenderableType:
    """Return the floor, the smallest clusters, what binds them and all that was tried, ready to print."""
    limits = " and ".join(map(written_limit, sized.limits))
    sessions = f" at {exactly(sized.sessions, 'session')}" if sized.sessions else ""
    title = heading(
        f"{sized.scenario}: clusters with {limits}{sessions}",
        f"{len(sized.tried)} tried, {plural(len(sized.seeds), 'seed')} {', '.join(map(str, sized.seeds))}",
    )
    head = Group(title, *rules_line(sized.summaries))
    floor: list[RenderableType] = []
    if sized.floor is not None:
        searched = bool(sized.tried)
        floor = [Text(), render_floor(sized.floor, sized.limits, searched=searched)]
    if not sized.tried:
        return Group(head, *floor, footnotes(_notes(sized)))
    return Group(
        head,
        *floor,
        Text(),
        _clusters(sized),
        Text(),
        *_bindings(sized),
        *([Prose(_next(sized), style="bold"), Text()] if _next(sized) else []),
        _tried(sized),
        footnotes(_notes(sized), warnings=sized.warnings()),
    )


def _clusters(sized: Sized) -> Table:
    shown = sized.shown[:_MOST_ROWS]
    limited = {limit.metric: limit for limit in sized.limits}
    beside = [name for name in ("gpu_hours", LATE) if name not in limited and any(map(_has(name), shown))]
    incomplete = any(tried.not_completed for tried in shown)
    headers = [written_limit(limit) for limit in sized.limits]
    headers += ["binds", *map(label, beside), "GPU h, 1,000 requests"]
    headers += ["a day", "1,000 requests"] if sized.price else []
    headers += ["not completed"] if incomplete else []
    rows = table("GPUs", "layout", *map(folded, ("host RAM a worker", *headers)))
    for tried in shown:
        layout, host_bytes = tried.configuration
        binds, hours, price = sized.binding(tried), tried.hours_a_thousand, sized.price
        money = (
            []
            if price is None
            else [
                price.show(price.a_day(layout.gpus)),
                price.show(None if hours is None else hours * price.amount),
            ]
        )
        rows.add_row(
            f"{layout.gpus:4}" + (" !" if tried.holds and tried.broken_from_due else ""),
            _named(tried.configuration),
            format_bytes(host_bytes) if host_bytes else "none",
            *(_beside_limit(tried, limit) for limit in sized.limits),
            binds.what if binds else words.MISSING,
            *(unit(metric).show(tried.mean(metric)) for metric in beside),
            words.number(hours),
            *money,
            *([words.number(tried.not_completed)] if incomplete else []),
        )
    return rows


def _has(metric: str) -> Callable[[Tried], bool]:
    return lambda tried: bool(tried.mean(metric))


def _beside_limit(tried: Tried, limit: Limit) -> Text:
    """Return the number of the worst seed, marked where it is outside of its limit."""
    value = tried.worst(limit)
    outside = value is not None and limit.margin(value) < 0
    text = f"{unit(limit.metric).show(value)}{' !' if outside else '  '}"
    return Text(text, style="bold red" if outside else "")


def _named(configuration: Configuration) -> str:
    layout = configuration.layout
    return str(layout) if layout.decode or layout.parallel.gpus > 1 else "aggregated"


def _bindings(sized: Sized) -> Iterator[RenderableType]:
    """Yield what binds the first of the clusters that are shown, and with which evidence."""
    lines = PageTable.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True)
    lines.add_column()
    for tried in _told(sized):
        binds = sized.binding(tried)
        if binds is not None:
            kind, gpus = _named(tried.configuration), tried.configuration.layout.gpus
            lines.add_row(
                f"{exactly(gpus, 'GPU')}, {kind}", Text(binds.what, style="bold"), Prose(binds.evidence)
            )
    if lines.row_count:
        yield Text("What binds", style="bold")
        yield lines
        yield Text()


def _told(sized: Sized) -> Sequence[Tried]:
    near = [sized.nearest] if sized.smallest and sized.nearest is not None else []
    return [*sized.shown[: _MOST_TOLD - len(near)], *near]


def _next(sized: Sized) -> str:
    """Return what would help next: the cluster that comes nearest without keeping the limits."""
    tried = sized.nearest
    binds = tried and sized.binding(tried)
    if tried is None or not binds:
        return ""
    layout = tried.configuration.layout
    name = f"{exactly(layout.gpus, 'GPU')} ({_named(tried.configuration)})"
    numbers = " and ".join(
        f"{label(limit.metric)} {unit(limit.metric).show(tried.worst(limit))}" for limit in sized.limits
    )
    start = "To make do with less" if sized.smallest else "What would help next"
    return f"{start}: {name} comes nearest, with {numbers}; {binds.what} binds it: {binds.helps}."


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
    if sized.tried:
        yield from _of_search(sized)
    if sized.floor is not None:
        yield from floor_notes(sized.floor)
    searched = [run for tried in sized.tried for run in tried.runs]
    runs = searched or list(sized.floor.warm if sized.floor else ())
    for error in dict.fromkeys(run.error for run in runs if run.error):
        yield f"failed: {error}"
    left_out = left_out_of([run.summary for run in runs if run.summary is not None])
    yield from left_out or [
        "every request counts; to leave a warm-up out: --set replay.warm_start=first-contexts, or "
        "replay.warm_up_requests=N"
    ]
    yield from trace_note(sized.seeds, (run.settings.get("workload", {}) for run in runs))
    notes = [run.notes for run in runs if run.summary is not None]
    yield from (note for note in (notes[0] if notes else ()) if all(note in other for other in notes))


def _of_search(sized: Sized) -> Iterator[str]:
    if not sized.smallest:
        yield "none of these clusters holds; above are those that come nearest"
        if all(tried.not_completed for tried in sized.tried):
            yield "a cluster holds only if every request completes; here none completes all"
    yield "numbers with a limit are of the worst seed, ! where outside; the others are means over the seeds"
    if sized.price is not None:
        amount = sized.price.show(sized.price.amount)
        yield f"at {amount} a GPU hour: a day of all GPUs; a thousand requests at the rate of the run"
    yield (
        "by bisection, as if more workers were always better; then one and two fewer and the fewest, or half "
        "of the most, half of that and so on if that does not hold; of split ones also a prefill or a decode "
        "worker less; shown are those beside which none of their kind needs no more GPUs and host RAM"
    )
    once = sum(len(tried.runs) < len(sized.seeds) for tried in sized.tried)
    if once:
        some = f"{exactly(once, 'cluster')} did not hold with seed {sized.seeds[0]}"
        yield f"{some}, and {'was' if once == 1 else 'were'} not run with the others"
    yield f"split clusters fill nodes of {sized.gpus_per_node} GPUs in order, prefill workers first"
