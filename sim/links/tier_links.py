"""The copies of one worker between its tiers: to and from each of them a stream of its own."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from sim.engine.transfer_job import TransferJob
from sim.links.tier import Tier
from sim.links.transfer import Copy, Outage, Stream


class Streams(NamedTuple):
    """The two ways of a tier."""

    down: Stream
    up: Stream
    pieces_per_block: int


class TierLinks:
    """Takes jobs of the offloading connector and says when they are done.

    A block has `block_bytes` bytes in every tier. Jobs of one stream are submitted in the order in which they
    may start. `outages` are by kind of link. What comes from other workers is asked of `fetch`.
    """

    def __init__(
        self,
        tiers: Sequence[Tier],
        block_bytes: int,
        outages: Mapping[str, Sequence[Outage]] | None = None,
        fetch: Callable[[TransferJob], None] = lambda _: None,
    ) -> None:
        outages = outages or {}
        self._fetch = fetch
        self.streams: dict[str, Streams] = {}
        """By tier."""
        for tier in tiers:
            if tier.remote:
                continue
            out = outages.get(tier.link, ())
            ways = Stream(tier.down, out), Stream(tier.up, out)
            self.streams[tier.name] = Streams(*ways, tier.pieces_per_block)
        self.done_s: dict[int, float] = {}
        """When each job not yet reported is done."""
        self.changes = 0
        """Counts jobs submitted and jobs reported: equal counts mean equal copies under way."""
        self._copies: dict[int, tuple[Stream, Copy]] = {}
        """Jobs not yet reported."""
        self._block_bytes = block_bytes

    def submit(self, job: TransferJob, start_s: float) -> float:
        """Queue a copy that may start at `start_s`; return when it is done: infinity if others will say."""
        if job.peer is not None:
            self.done_s[job.job_id] = inf
            self.changes += 1
            self._fetch(job)
            return inf
        down, up, pieces_per_block = self.streams[job.tier]
        stream = up if job.load else down
        blocks = len(job.blocks)
        n_bytes, pieces = blocks * self._block_bytes, blocks * pieces_per_block
        self._copies[job.job_id] = stream, Copy(max(start_s, stream.busy_until_s), n_bytes, pieces)
        done_s = stream.submit(n_bytes, pieces, start_s)
        self.done_s[job.job_id] = done_s
        self.changes += 1
        return done_s

    def fetched(self, job_id: int, now_s: float) -> None:
        """What was asked of other workers is here."""
        self.done_s[job_id] = now_s
        self.changes += 1

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
        return min(self.done_s.values(), default=inf)

    def take_done(self, now_s: float) -> list[int]:
        """Report the jobs done by now, once each, in order of their ends."""
        done = sorted((end_s, job_id) for job_id, end_s in self.done_s.items() if end_s <= now_s)
        for _, job_id in done:
            del self.done_s[job_id]
            self._copies.pop(job_id, None)
        self.changes += len(done)
        return [job_id for _, job_id in done]
