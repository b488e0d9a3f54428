"""Each link carries what was sent: bytes and copies between the tiers of a worker, and between workers."""

from collections import Counter
from collections.abc import Iterable

from sim.base.errors import InvariantError
from sim.cluster.worker import Worker
from sim.engine.engine import Engine
from sim.engine.nixl import Pull
from sim.engine.plan import StepPlan
from sim.engine.transfer_job import TransferJob
from sim.links.network import LinkUse
from sim.links.tier_links import TierLinks
from sim.links.transfer import Stream

RULE = "links carry what was sent"
ROUNDING = 1e-9


Way = tuple[int, str, bool]
"""A stream: worker, tier, and whether it leads up."""


class TierCopies:
    """What steps have copied between the tiers of workers."""

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._jobs: Counter[Way] = Counter()
        self._blocks: Counter[Way] = Counter()

    def planned(self, worker: int, plan: StepPlan) -> None:
        """Count the copies of a step."""
        for jobs in (plan.loads, plan.stores, plan.moves):
            for job in jobs:
                self._count(worker, job, 1)

    def _count(self, worker: int, job: TransferJob, sign: int) -> None:
        way = worker, job.tier, job.load
        self._jobs[way] += sign
        self._blocks[way] += sign * len(job.blocks)

    def lost(self, worker: int, engine: Engine, links: TierLinks, now_s: float) -> None:
        """The process of a worker ends: what its links have under way comes to nothing."""
        for job_id, done_s in links.done_s.items():
            assert engine.offload is not None
            if done_s > now_s:
                self._count(worker, engine.offload.jobs[job_id], -1)

    def check(self, index: int, worker: Worker, now_s: float) -> None:
        """Compare with the links of a worker."""
        links = worker.links
        for tier, (down, up, _) in links.streams.items():
            for stream, load in ((up, True), (down, False)):
                way, name = (index, tier, load), f"{tier}, {'up' if load else 'down'}"
                sent = self._jobs[way], self._blocks[way] * self._block_bytes
                if sent != (stream.jobs, stream.n_bytes):
                    detail = f"{name}: {stream.jobs} copies of {stream.n_bytes} bytes were carried"
                    detail += f", {sent[0]} of {sent[1]} planned"
                    raise InvariantError(RULE, detail, worker=index, now_s=now_s)
                _check_capacity(stream, name, index, now_s)
        engine = worker.engine
        jobs = set(engine.offload.jobs) if engine.offload is not None else set()
        if jobs != set(links.done_s):
            detail = f"copies {sorted(jobs)} are waited for, {sorted(links.done_s)} are under way"
            raise InvariantError(RULE, detail, worker=index, now_s=now_s)


def _check_capacity(stream: Stream, direction: str, worker: int, now_s: float) -> None:
    needed_s = stream.n_bytes / stream.bytes_per_s
    if not needed_s <= stream.busy_s * (1 + ROUNDING) <= stream.busy_until_s * (1 + 2 * ROUNDING):
        detail = f"{direction}: {stream.n_bytes} bytes take {needed_s:g} s, it was busy for {stream.busy_s:g}"
        raise InvariantError(RULE, f"{detail} of {stream.busy_until_s:g} s", worker=worker, now_s=now_s)


class Transfers:
    """What decode workers have read from prefill workers, and these of their host memory."""

    def __init__(self, block_bytes: int, host_block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._host_block_bytes = host_block_bytes
        self._under_way: dict[int, tuple[int, int, float]] = {}
        """Target, bytes and start in seconds, by request."""
        self._done = 0
        self._n_bytes = 0

    def started(self, worker: int, pull: Pull, now_s: float) -> None:
        """A worker posts a read."""
        index = pull.request_id
        if index in self._under_way:
            raise InvariantError(RULE, "read twice at once", request=index, worker=worker, now_s=now_s)
        self._under_way[index] = worker, pull.blocks * self._block_bytes, now_s

    def planned(self, plan: StepPlan) -> None:
        """Count what a step asks of other workers' host memory: it is read to the end."""
        for job in plan.moves:
            if job.peer is not None:
                self._done += 1
                self._n_bytes += len(job.blocks) * self._host_block_bytes

    def ended(self, index: int, n_bytes: int, start_s: float, end_s: float) -> None:
        """A read has ended."""
        target, sent, sent_s = self._under_way.pop(index, (None, 0, 0.0))
        if target is None or (n_bytes, start_s) != (sent, sent_s) or not start_s <= end_s:
            detail = (
                f"{n_bytes} bytes were read from {start_s:g} s on, {sent} from {sent_s:g} s on were asked for"
            )
            raise InvariantError(RULE, detail, request=index, worker=target, now_s=end_s)
        self._done += 1
        self._n_bytes += n_bytes

    def stopped(self, index: int, now_s: float) -> None:
        """A read came to nothing."""
        if self._under_way.pop(index, None) is None:
            raise InvariantError(RULE, "a read was stopped that was not posted", request=index, now_s=now_s)

    def check(self, links: Iterable[LinkUse], now_s: float) -> None:
        """Compare with what went over all links, in and out, when no event is left."""
        for index, (worker, *_) in self._under_way.items():
            raise InvariantError(RULE, "a read never ended", request=index, worker=worker, now_s=now_s)
        carried = {"in": [0, 0], "out": [0, 0]}
        for use in links:
            carried[use.direction][0] += use.transfers
            carried[use.direction][1] += use.n_bytes
            if use.n_bytes / use.bandwidth_bytes_per_s > use.busy_s * (1 + ROUNDING) + ROUNDING * now_s:
                detail = f"{use.kind} {use.owner} {use.direction}: {use.n_bytes} bytes in {use.busy_s:g} s"
                raise InvariantError(RULE, detail, now_s=now_s)
        for direction, found in carried.items():
            if found != [self._done, self._n_bytes]:
                detail = f"links {direction}: {found[0]} transfers of {found[1]} bytes"
                detail += f", {self._done} reads of {self._n_bytes} bytes have ended"
                raise InvariantError(RULE, detail, now_s=now_s)

    @staticmethod
    def check_held(held: Iterable[int], now_s: float) -> None:
        """Compare with what is kept to be read when all requests have ended."""
        for index in held:
            raise InvariantError(RULE, "is kept to be read, but nobody will", request=index, now_s=now_s)
