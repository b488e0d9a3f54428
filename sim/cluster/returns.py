"""KV that flows back: prefill workers read what decode workers keep in host memory (`PeerTier`)."""

from collections.abc import Callable, Sequence
from functools import partial

from sim.cluster.wires import Wires
from sim.cluster.worker import Worker
from sim.engine.transfer_job import TransferJob
from sim.events.clock import Clock
from sim.kv.offload import OffloadTier
from sim.kv.peer_tier import PeerTier
from sim.links.tier import Tier
from sim.links.transfer import LinkSettings

PEER = "peer"
"""What the tier is called."""


class Returns:
    """Reads of decode workers' host memory; `workers`, by index, may be built later.

    Those from `first` on are read. A block has `block_bytes`, in one piece; one of the cache group
    `attention_group` has `block_tokens`.
    """

    def __init__(
        self,
        clock: Clock,
        wires: Wires,
        workers: Sequence[Worker],
        first: int,
        *,
        block_bytes: int,
        block_tokens: int,
        attention_group: int | None,
    ) -> None:
        self.reads = 0
        """Reads that have ended,"""
        self.n_bytes = 0
        """the bytes,"""
        self.tokens = 0
        """and the prompt tokens whose attention blocks they brought."""
        self._clock = clock
        self._wires = wires
        self._workers = workers
        self._first = first
        self._block_bytes = block_bytes
        self._block_tokens = block_tokens
        self._attention_group = attention_group

    def tier(self) -> Tier:
        """Return the decode workers' memory as a tier of a prefill worker."""
        unused = LinkSettings()
        return Tier(
            PEER,
            lambda _, name: PeerTier(name, self._peers),
            0,
            down=unused,
            up=unused,
            router_tier=None,
            link="roce",
            remote=True,
        )

    def fetch(self, worker: int) -> Callable[[TransferJob], None]:
        """Return what starts the reads of a worker."""
        return partial(self._start, worker)

    def summary(self) -> dict[str, int]:
        """Return what came that way."""
        return {"n": self.reads, "n_bytes": self.n_bytes, "tokens": self.tokens}

    def _peers(self) -> list[OffloadTier]:
        offloads = [worker.engine.offload for worker in self._workers[self._first :]]
        return [offload.tier for offload in offloads if offload is not None]

    def _start(self, worker: int, job: TransferJob) -> None:
        assert job.peer is not None
        blocks, source = len(job.blocks), self._first + job.peer
        n_bytes = blocks * self._block_bytes
        self._wires.start_of_host(n_bytes, blocks, source, worker, partial(self._ended, worker, job))

    def _ended(self, worker: int, job: TransferJob) -> None:
        self.reads += 1
        self.n_bytes += len(job.blocks) * self._block_bytes
        self.tokens += self._block_tokens * sum(group == self._attention_group for _, group in job.blocks)
        target = self._workers[worker]
        target.links.fetched(job.job_id, self._clock.now_s)
        target.report()
