"""The pulls of a disaggregated cluster: transfers between workers, and the leases on what waits to be read.

A prefill worker keeps the blocks of a prompt for `lease_s` seconds after it has answered. While the request
waits on a decode worker, that worker's heartbeats prolong the lease. A lease that ends all the same lets the
blocks go: the decode worker then computes the prompt itself.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import floor, inf
from typing import NamedTuple, Protocol

from sim.cluster.transport import Transport
from sim.cluster.wires import Wires
from sim.engine.nixl import Pull
from sim.events.clock import Clock, Phase


class PullTarget(Protocol):
    """A worker, as far as pulls concern it."""

    def report(self, *, pulled: Sequence[int] = (), read: Sequence[int] = ()) -> None:
        """Requests whose pull has ended here, and requests held here whose blocks were read."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Seconds: see `DisaggregationSettings`."""

    lease_s: float
    heartbeat_interval_s: float
    extension_s: float


class PullListeners(NamedTuple):
    """Who is told what becomes of transfers."""

    pulled: Callable[[int, int, float, float], None]
    """Every transfer that ended: request, bytes, start and end in seconds."""
    expired: Callable[[int], None]
    """Every lease that ended before its blocks were read: request."""
    failed: Callable[[int, int], None] = lambda request, target: None
    """Every transfer that came to nothing while its decode worker waits: request and decode worker."""
    stopped: Callable[[int], None] = lambda request: None
    """All reads that were posted and came to nothing: request."""


class _Held:
    """Blocks of a request that its prefill worker keeps."""

    __slots__ = (
        "ended_s",
        "lost",
        "over",
        "pulling",
        "request",
        "waiting_since_s",
        "waiting_until_s",
        "worker",
    )

    def __init__(self, request: int, worker: int, ended_s: float) -> None:
        self.request = request
        self.worker = worker
        self.ended_s = ended_s
        """When the prefill worker had answered."""
        self.waiting_since_s = inf
        """When the request came to its decode worker."""
        self.waiting_until_s = inf
        """When that gave it up, or was gone."""
        self.pulling = False
        """From here on the lease is kept up to the end of the transfer."""
        self.over = False
        """Nobody will ask for them."""
        self.lost = False
        """The prefill worker is gone: there is nothing to read."""


class Pulls:
    """Starts transfers for decode workers, tells both sides of their ends, and watches the leases.

    `workers` are all workers by index, complete before the first request. `post_s_per_descriptor`: what the
    loop of a decode worker takes to post a descriptor; 0: posting is left to the link.
    """

    def __init__(
        self,
        clock: Clock,
        network: Transport,
        lease: Lease,
        *,
        block_bytes: int,
        pieces_per_block: int,
        workers: Sequence[PullTarget],
        listeners: PullListeners,
        post_s_per_descriptor: float = 0.0,
    ) -> None:
        self.network = network
        self.wires = Wires(clock, network)
        self._workers = workers
        self._pulled = listeners.pulled
        self._expired = listeners.expired
        self._failed = listeners.failed
        self._stopped = listeners.stopped
        self._clock = clock
        self._lease = lease
        self._block_bytes = block_bytes
        self._pieces_per_block = pieces_per_block
        self._post_s_per_descriptor = post_s_per_descriptor
        self._posted_s: dict[int, float] = {}
        """When the loop of each decode worker has posted all that it was given."""
        self._held: dict[int, _Held] = {}
        self._leases: list[tuple[float, int, int, _Held]] = []
        """What may run out, the first first: when, on which worker, a count. Most have been read by then."""
        self._count = count()
        self._under_way: dict[int, tuple[int, int, float]] = {}

    # -- leases ---------------------------------------------------------------------------------------------

    def hold(self, request: int, worker: int) -> None:
        """A prefill worker has answered and keeps the blocks of a request."""
        held = self._held[request] = _Held(request, worker, self._clock.now_s)
        self._watch(held)

    def awaited(self, request: int) -> bool:
        """A request has come to its decode worker; return whether its blocks are still there to be read."""
        held = self._held.get(request)
        if held is not None:
            held.waiting_since_s = self._clock.now_s
        return held is not None

    def given_up(self, request: int) -> None:
        """A request waits on its decode worker no more, whose heartbeats end: so does the lease, in time."""
        held = self._held.get(request)
        if held is not None and not held.pulling:
            held.waiting_until_s = self._clock.now_s
            self._watch(held)

    def over(self, request: int) -> None:
        """Nobody will ask for the blocks of a request any more: they are kept until their lease ends."""
        held = self._held.get(request)
        if held is None:
            return
        held.over = True
        if held.lost:
            del self._held[request]

    @property
    def held(self) -> Collection[int]:
        """Requests whose blocks are kept, or awaited although they are lost."""
        return self._held.keys()

    def _watch(self, held: _Held) -> None:
        end_s = max(self._lease_end_s(held), self._clock.now_s)
        if end_s < inf:
            heappush(self._leases, (end_s, held.worker, next(self._count), held))
            if self._leases[0][3] is held:
                self._await_first()

    def _await_first(self) -> None:
        """Look at the lease that runs out first, when it does, and at no others before."""
        leases = self._leases
        while leases and not self._counts(leases[0][3]):
            heappop(leases)
        if leases:
            end_s, worker, *_ = leases[0]
            self._clock.at(end_s, Phase.OUTPUT, worker, lambda: self._look(end_s, worker))

    def _look(self, end_s: float, worker: int) -> None:
        """Leases on a worker run out, if nothing has come between."""
        leases = self._leases
        if not leases or leases[0][:2] != (end_s, worker):
            return
        while leases and leases[0][:2] == (end_s, worker):
            self._check(heappop(leases)[3])
        self._await_first()

    def _counts(self, held: _Held) -> bool:
        """Whether the lease still keeps blocks that nobody reads yet."""
        return not (held.pulling or held.lost) and self._held.get(held.request) is held

    def _lease_end_s(self, held: _Held) -> float:
        """When the lease ends as things stand: never, if heartbeats come before their extension is over."""
        lease, end_s = self._lease, held.ended_s + self._lease.lease_s
        interval_s, since_s = lease.heartbeat_interval_s, held.waiting_since_s
        if since_s == inf or not interval_s:
            return end_s
        until_s = held.waiting_until_s
        if interval_s > lease.extension_s:
            until_s = min(until_s, end_s)
        if until_s == inf:
            return inf
        beats = floor(max(0.0, until_s - since_s) / interval_s)
        return max(end_s, since_s + beats * interval_s + lease.extension_s)

    def _check(self, held: _Held) -> None:
        if not self._counts(held):
            return
        if self._lease_end_s(held) > self._clock.now_s:
            self._watch(held)
            return
        del self._held[held.request]
        self._expired(held.request)
        self._workers[held.worker].report(read=[held.request])

    def lose(self, worker: int) -> None:
        """A prefill worker is no more: what nobody reads yet can be read no longer."""
        lost = [request for request, held in self._held.items() if held.worker == worker and not held.pulling]
        for request in lost:
            del self._held[request]
            self._expired(request)

    def source_gone(self, worker: int) -> None:
        """The process of a prefill worker has ended: reads from it fail, now or when they are posted."""
        for request, held in [*self._held.items()]:
            if held.worker != worker:
                continue
            held.lost = True
            if held.pulling or held.over:
                del self._held[request]
            if held.pulling:
                self._failed(request, self._cancel(request))

    def target_gone(self, request: int, *, reached: bool = True) -> None:
        """The decode worker of a request is gone: nobody prolongs the lease any more.

        `reached`: whether the request came to it, so that it has prolonged the lease before.
        """
        self.over(request)
        held = self._held.get(request)
        if held is None:
            return
        if held.pulling:
            held.pulling = False
            self._cancel(request)
        if not reached:
            held.waiting_since_s = inf
        self.given_up(request)

    def _cancel(self, request: int) -> int:
        """Stop a transfer that is under way; return the decode worker that it goes to."""
        target, _, _ = self._under_way.pop(request)
        self.wires.cancel(request)
        self._stopped(request)
        self.wires.arrange()
        return target

    # -- transfers ------------------------------------------------------------------------------------------

    def start(self, pull: Pull, target: int) -> None:
        """A decode worker posts a read now."""
        held = self._held[pull.request_id]
        if held.lost:
            del self._held[pull.request_id]
            self._stopped(pull.request_id)
            self._clock.at(
                self._clock.now_s, Phase.OUTPUT, target, lambda: self._failed(pull.request_id, target)
            )
            return
        held.pulling = True
        self._under_way[pull.request_id] = (target, pull.blocks * self._block_bytes, self._clock.now_s)
        self.wires.start(
            pull.request_id,
            pull.blocks * self._block_bytes,
            pull.blocks * self._pieces_per_block,
            held.worker,
            target,
            ended=partial(self._ended, pull.request_id),
            posting_s=self._posting_s(pull, target),
        )

    def _posting_s(self, pull: Pull, target: int) -> float | None:
        """Return how long it takes from now until a decode worker's loop has posted a read, after others.

        None: as long as the link says.
        """
        if not self._post_s_per_descriptor:
            return None
        now_s, descriptors = self._clock.now_s, pull.blocks * self._pieces_per_block
        begins_s = max(now_s, self._posted_s.get(target, now_s))
        self._posted_s[target] = begins_s + descriptors * self._post_s_per_descriptor
        return self._posted_s[target] - now_s

    def unneeded(self, request: int) -> None:
        """A decode worker has all of a prompt already; the prefill worker is only told."""
        held = self._held.pop(request, None)
        if held is not None:
            self._workers[held.worker].report(read=[request])

    def _ended(self, request: int) -> None:
        """A transfer has ended: its decode worker has the blocks, its prefill worker may let them go."""
        target, n_bytes, start_s = self._under_way.pop(request)
        held = self._held.pop(request)
        self._pulled(request, n_bytes, start_s, self._clock.now_s)
        self._workers[target].report(pulled=[request])
        self._workers[held.worker].report(read=[request])
