"""What is said beside a search for cluster sizes: who holds only because requests wait, what was refused."""

from collections.abc import Iterator

from sim.base.units import format_bytes, plural
from sim.results.lateness import from_due, is_notable, late_sentence
from sim.results.quantities import label, unit
from sim.results.refusals import refusals
from sim.runs.layouts import Configuration
from sim.runs.sizing import Sized, Tried, by_size


def sized_warnings(sized: Sized) -> list[str]:
    """Return what would mislead whoever reads the table alone."""
    return [*_refused(sized), *_held_by_waiting(sized)]


def _refused(sized: Sized) -> Iterator[str]:
    runs = [run.summary for tried in sized.tried for run in tried.runs if run.summary is not None]
    where = "of clusters that do not hold: " if sized.smallest else ""
    for line in refusals(runs):
        yield f"{where}{line}"


def _held_by_waiting(sized: Sized) -> Iterator[str]:
    """Say of each of the smallest clusters what it owes to the client, and which would do without."""
    waiting = [tried for tried in sized.smallest if tried.broken_from_due]
    for tried in waiting:
        limit = tried.broken_from_due[0]
        says = late_sentence(tried.numbers, limit.metric, label(limit.metric), because=tried is waiting[0])
        yield (
            f"{_named(tried.configuration)}: keeps {label(limit.metric)} below "
            f"{unit(limit.metric).show(limit.bound)} only because requests wait in the client: {says}"
        )
    for tried in sized.smallest:
        if not tried.broken_from_due and is_notable(tried.numbers):
            yield f"{_named(tried.configuration)}: {late_sentence(tried.numbers)}"
    if waiting:
        yield _without_waiting(sized, waiting)


def _without_waiting(sized: Sized, waiting: list[Tried]) -> str:
    slo = dict.fromkeys(
        f'--slo "{from_due(limit.metric)}{limit.text.strip()[len(limit.metric) :]}"'
        for tried in waiting
        for limit in tried.broken_from_due
    )
    keep = [tried for tried in sized.tried if tried.holds and not tried.broken_from_due]
    says = "no cluster that was tried keeps it from the time when requests were due"
    if keep:
        smallest = _named(min(keep, key=by_size).configuration)
        says = f"of those tried the smallest that keeps it from the time when requests were due is {smallest}"
    return f"{says}; to size by what users wait: {' '.join(slo)}"


def _named(configuration: Configuration) -> str:
    layout, host_bytes = configuration
    kind = str(layout) if layout.decode else f"{layout.gpus} {plural(layout.gpus, 'worker')}"
    return f"{kind} with {format_bytes(host_bytes)} of host RAM each" if host_bytes else kind
