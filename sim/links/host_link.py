"""The copies of one worker between GPU and host memory: each direction a stream of its own."""

from collections.abc import Sequence

from sim.engine.connector import TransferJob
from sim.links.transfer import Copy, LinkSettings, Outage, Stream


class HostLink:
    """Takes jobs of the offloading connector and says when they are done.

    A block of the pool has `block_bytes` bytes in `pieces_per_block` contiguous pieces. Jobs of one direction
    are submitted in the order in which they may start.
    """

    def __init__(
        self, link: LinkSettings, block_bytes: int, pieces_per_block: int, outages: Sequence[Outage] = ()
    ) -> None:
        self.to_gpu = Stream(link, outages)
        self.to_host = Stream(link, outages)
        self.done_s: dict[int, float] = {}
        """When each job not yet reported is done."""
        self.changes = 0
        """Counts jobs submitted and jobs reported: equal counts mean equal copies under way."""
        self._copies: dict[int, tuple[Stream, Copy]] = {}
        """Jobs not yet reported."""
        self._block_bytes = block_bytes
        self._pieces_per_block = pieces_per_block

    def submit(self, job: TransferJob, start_s: float) -> float:
        """Queue a copy that may start at `start_s`; return when it is done."""
        stream = self.to_gpu if job.load else self.to_host
        blocks = len(job.blocks)
        n_bytes, pieces = blocks * self._block_bytes, blocks * self._pieces_per_block
        self._copies[job.job_id] = stream, Copy(max(start_s, stream.busy_until_s), n_bytes, pieces)
        done_s = stream.submit(n_bytes, pieces, start_s)
        self.done_s[job.job_id] = done_s
        self.changes += 1
        return done_s

    def cut(self, now_s: float) -> None:
        """Everything under way comes to nothing."""
        for job_id, (stream, copy) in self._copies.items():
            if self.done_s[job_id] > now_s:
                stream.cut(copy, now_s)
        self.changes += len(self.done_s)
        self.done_s.clear()
        self._copies.clear()

    def next_s(self) -> float:
        """Return when the next job is done; infinity if none is under way."""
        return min(self.done_s.values(), default=float("inf"))

    def take_done(self, now_s: float) -> list[int]:
        """Report the jobs done by now, once each, in order of their ends."""
        done = sorted((end_s, job_id) for job_id, end_s in self.done_s.items() if end_s <= now_s)
        for _, job_id in done:
            del self.done_s[job_id], self._copies[job_id]
        self.changes += len(done)
        return [job_id for _, job_id in done]
