"""What is said beside a search for cluster sizes: who holds only because requests wait, what was refused."""

from collections.abc import Iterator, Sequence

from sim.base.words import exactly, format_bytes
from sim.results.lateness import from_due, is_notable, late_sentence
from sim.results.quantities import label, unit
from sim.results.refusals import refusals
from sim.runs.layouts import Configuration
from sim.runs.tried import Tried, by_size
from sim.runs.unlike_times import unlike_times


def sized_warnings(smallest: Sequence[Tried], tried: Sequence[Tried]) -> list[str]:
    """Return what would mislead whoever reads the table of the smallest clusters alone."""
    times = unlike_times((str(found.configuration.layout), run) for found in tried for run in found.runs)
    return [*_refused(tried, some_hold=bool(smallest)), *_held_by_waiting(smallest, tried), *times]


def _refused(tried: Sequence[Tried], *, some_hold: bool) -> Iterator[str]:
    runs = [run.summary for cluster in tried for run in cluster.runs if run.summary is not None]
    where = "of clusters that do not hold: " if some_hold else ""
    for line in refusals(runs):
        yield f"{where}{line}"


def _held_by_waiting(smallest: Sequence[Tried], tried: Sequence[Tried]) -> Iterator[str]:
    """Say of each of the smallest clusters what it owes to the client, and which would do without."""
    waiting = [cluster for cluster in smallest if cluster.broken_from_due]
    for cluster in waiting:
        limit = cluster.broken_from_due[0]
        says = late_sentence(
            cluster.numbers, limit.metric, label(limit.metric), because=cluster is waiting[0]
        )
        yield (
            f"{_named(cluster.configuration)}: keeps {label(limit.metric)} below "
            f"{unit(limit.metric).show(limit.bound)} only because requests wait in the client: {says}"
        )
    for cluster in smallest:
        if not cluster.broken_from_due and is_notable(cluster.numbers):
            yield f"{_named(cluster.configuration)}: {late_sentence(cluster.numbers)}"
    if waiting:
        yield _without_waiting(waiting, tried)


def _without_waiting(waiting: Sequence[Tried], tried: Sequence[Tried]) -> str:
    slo = dict.fromkeys(
        f'--slo "{from_due(limit.metric)}{limit.text.strip()[len(limit.metric) :]}"'
        for cluster in waiting
        for limit in cluster.broken_from_due
    )
    keep = [cluster for cluster in tried if cluster.holds and not cluster.broken_from_due]
    says = "no cluster that was tried keeps it from the time when requests were due"
    if keep:
        smallest = _named(min(keep, key=by_size).configuration)
        says = f"of those tried the smallest that keeps it from the time when requests were due is {smallest}"
    return f"{says}; to size by what users wait: {' '.join(slo)}"


def _named(configuration: Configuration) -> str:
    layout, host_bytes = configuration
    workers = exactly(layout.gpus, "worker")
    kind = str(layout) if layout.decode or layout.parallel.gpus > 1 else workers
    return f"{kind} with {format_bytes(host_bytes)} of host RAM each" if host_bytes else kind
