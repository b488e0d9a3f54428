"""What went over every link of a cluster, when its run is over."""

from collections.abc import Iterable, Iterator, Sequence

from sim.cluster.kv_transfer import Pulls
from sim.cluster.worker import Worker
from sim.links.tier import Tier
from sim.links.transfer import Stream
from sim.results.transfers import LinkRow


def link_rows(
    workers: Sequence[Worker], tiers: Sequence[Tier], pulls: Pulls | None, now_s: float, end_s: float
) -> Iterator[LinkRow]:
    """Yield a row for each direction of each link; at `end_s` the last request had ended.

    Blocks come to the first tier from GPU memory, to those below from the first.
    """
    for index, worker in enumerate(workers):
        above = "gpu"
        for tier in tiers:
            if tier.name in worker.links.streams:
                down, up, _ = worker.links.streams[tier.name]
                yield _tier_row(tier, index, f"to_{tier.name}", down, end_s)
                yield _tier_row(tier, index, f"to_{above}", up, end_s)
                above = tiers[0].name
    if pulls is not None:
        for use in pulls.network.links(now_s):
            yield LinkRow(*use, use.busy_s / end_s if end_s else 0.0)


def rows_since(
    rows: Iterable[LinkRow], before: Sequence[LinkRow], begun_s: float, end_s: float
) -> Iterator[LinkRow]:
    """Yield what went over each link since a time when nothing was under way, and `before` what there was."""
    took_s = end_s - begun_s
    for row, then in zip(rows, before, strict=True):
        busy_by_end_s = row.utilisation * end_s
        yield row._replace(
            transfers=row.transfers - then.transfers,
            n_bytes=row.n_bytes - then.n_bytes,
            busy_s=max(0.0, row.busy_s - then.busy_s),
            waiting_s=max(0.0, row.waiting_s - then.waiting_s),
            utilisation=max(0.0, busy_by_end_s - then.busy_s) / took_s if took_s > 0 else 0.0,
        )


def _tier_row(tier: Tier, worker: int, direction: str, stream: Stream, end_s: float) -> LinkRow:
    return LinkRow(
        tier.link,
        worker,
        direction,
        stream.bytes_per_s,
        stream.jobs,
        stream.n_bytes,
        stream.busy_s,
        stream.waited_s,
        stream.utilisation(end_s),
        tier.name,
    )
