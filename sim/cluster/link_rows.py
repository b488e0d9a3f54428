"""What went over every link of a cluster, when its run is over."""

from collections.abc import Iterator, Sequence

from sim.cluster.kv_transfer import Pulls
from sim.cluster.worker import Worker
from sim.links.transfer import Stream
from sim.results.transfers import LinkRow


def link_rows(
    workers: Sequence[Worker], pulls: Pulls | None, now_s: float, end_s: float
) -> Iterator[LinkRow]:
    """Yield a row for each direction of each link; at `end_s` the last request had ended."""
    for index, worker in enumerate(workers):
        if worker.engine.offload is not None:
            yield _host_row(index, "to_host", worker.link.to_host, end_s)
            yield _host_row(index, "to_gpu", worker.link.to_gpu, end_s)
    if pulls is not None:
        for use in pulls.network.links(now_s):
            yield LinkRow(*use, use.busy_s / end_s if end_s else 0.0)


def _host_row(worker: int, direction: str, stream: Stream, end_s: float) -> LinkRow:
    return LinkRow(
        "pcie",
        worker,
        direction,
        stream.bytes_per_s,
        stream.jobs,
        stream.n_bytes,
        stream.busy_s,
        stream.waited_s,
        stream.utilisation(end_s),
    )
