"""What went over every link of a cluster, when its run is over."""

from collections.abc import Iterator, Sequence

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
