"""Each link carries what was sent: bytes and copies between GPU and host, and between workers."""

from collections.abc import Iterable

from sim.base.errors import InvariantError
from sim.cluster.worker import Worker
from sim.engine.connector import TransferJob
from sim.engine.engine import Engine
from sim.engine.nixl import Pull
from sim.engine.plan import StepPlan
from sim.links.host_link import HostLink
from sim.links.network import LinkUse
from sim.links.transfer import Stream

RULE = "links carry what was sent"
ROUNDING = 1e-9


class HostLinks:
    """What steps have copied between GPU and host."""

    def __init__(self, workers: int, block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._jobs = {direction: [0] * workers for direction in ("to_gpu", "to_host")}
        self._blocks = {direction: [0] * workers for direction in ("to_gpu", "to_host")}

    def planned(self, worker: int, plan: StepPlan) -> None:
        """Count the copies of a step."""
        if plan.loads:
            self._count("to_gpu", worker, plan.loads)
        if plan.stores:
            self._count("to_host", worker, plan.stores)

    def _count(self, direction: str, worker: int, jobs: list[TransferJob]) -> None:
        self._jobs[direction][worker] += len(jobs)
        for job in jobs:
            self._blocks[direction][worker] += len(job.blocks)

    def lost(self, worker: int, engine: Engine, link: HostLink, now_s: float) -> None:
        """The process of a worker ends: what its link has under way comes to nothing."""
        for job_id, done_s in link.done_s.items():
            assert engine.offload is not None
            if done_s > now_s:
                job = engine.offload.jobs[job_id]
                direction = "to_gpu" if job.load else "to_host"
                self._jobs[direction][worker] -= 1
                self._blocks[direction][worker] -= len(job.blocks)

    def check(self, index: int, worker: Worker, now_s: float) -> None:
        """Compare with the link of a worker."""
        link = worker.link
        for direction, stream in (("to_gpu", link.to_gpu), ("to_host", link.to_host)):
            n_bytes = self._blocks[direction][index] * self._block_bytes
            sent = self._jobs[direction][index], n_bytes
            if sent != (stream.jobs, stream.n_bytes):
                detail = f"{direction}: {stream.jobs} copies of {stream.n_bytes} bytes were carried"
                detail += f", {sent[0]} of {sent[1]} planned"
                raise InvariantError(RULE, detail, worker=index, now_s=now_s)
            _check_capacity(stream, direction, index, now_s)
        engine = worker.engine
        jobs = set(engine.offload.jobs) if engine.offload is not None else set()
        if jobs != set(link.done_s):
            detail = f"copies {sorted(jobs)} are waited for, {sorted(link.done_s)} are under way"
            raise InvariantError(RULE, detail, worker=index, now_s=now_s)


def _check_capacity(stream: Stream, direction: str, worker: int, now_s: float) -> None:
    needed_s = stream.n_bytes / stream.bytes_per_s
    if not needed_s <= stream.busy_s * (1 + ROUNDING) <= stream.busy_until_s * (1 + 2 * ROUNDING):
        detail = f"{direction}: {stream.n_bytes} bytes take {needed_s:g} s, it was busy for {stream.busy_s:g}"
        raise InvariantError(RULE, f"{detail} of {stream.busy_until_s:g} s", worker=worker, now_s=now_s)


class Transfers:
    """What decode workers have read from prefill workers."""

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes = block_bytes
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
