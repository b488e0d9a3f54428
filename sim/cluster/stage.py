"""One stage of serving requests: a router chooses among the workers of a pool, and books."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple

from sim.base.uniform import uniform
from sim.cluster.gate import Ranks, Ticket
from sim.cluster.pool import Pool
from sim.cluster.recorder import Recorder
from sim.cluster.refused import NO_WORKER, Refused
from sim.cluster.reports import Reports
from sim.cluster.request_state import RequestState, Visit
from sim.cluster.router_line import RouterLine
from sim.cluster.true_caches import TrueCaches
from sim.engine.active import ActiveRequest
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.router import Booking, Decision, NoEligibleWorkerError, Overrides, Query
from sim.router.overrides import NO_OVERRIDES
from sim.router.queue.lanes import Waiting

Booked = Callable[[RequestState, Pool, Decision, Booking], None]
"""Is told of every booking, right after it was made."""


QUEUE_LIMIT: Final = "router_queue_limit"
"""Begins the reason of what a limit of a router's queue turns away, as Dynamo does with status 529."""
Go = Callable[[Visit | Refused], None]
"""Is told what became of a request that a stage was to admit."""


class Entry(NamedTuple):
    """A request that is to be admitted."""

    go: Go
    pinned: int | None
    """The rank that it is to be."""
    ticket: Ticket | None = None
    """What it has of its session's binding; None: sessions are bound to nothing."""


class Desk(NamedTuple):
    """What all stages of a cluster have in common."""

    clock: Clock
    lazy_updates: LazyUpdates
    recorder: Recorder
    seed: int
    booked: Booked | None = None
    pins: Mapping[int, int] = {}
    """Workers that requests are to go to, by index, where a stage has them."""
    reports: Reports | None = None
    """What workers say of themselves; None: nobody reads it."""
    caches: TrueCaches | None = None
    """What workers' caches truly hold; None: nobody may look."""


class Stage:
    """Workers behind a router, asked in one way; a pool may serve several stages.

    Args:
        name: "aggregated", "prefill", "decode"; or "peek", which books nothing.
        pool: the workers.
        ask: makes what a worker is asked to compute for a request.
        too_long: why a prompt is refused that fits into none of the workers.
        desk: of all stages.
        overrides: of every query.
        decode: whether its workers are those of a disaggregated cluster that decode.
        lines: who waits at the router of each front end; empty: nobody ever does.
    """

    def __init__(
        self,
        name: str,
        pool: Pool,
        ask: Callable[[RequestState], ActiveRequest],
        desk: Desk,
        *,
        too_long: str = "prompt_exceeds_pool",
        overrides: Overrides = NO_OVERRIDES,
        decode: bool = False,
        lines: Sequence[RouterLine] = (),
    ) -> None:
        self.name = name
        self.pool = pool
        self.ask = ask
        self.too_long = too_long
        self.decode = decode
        self.lines = lines
        self._overrides = overrides
        self._follows_answers = pool.replicas[0].router.follows_answers
        self._clock = desk.clock
        self._lazy_updates = desk.lazy_updates
        self._recorder = desk.recorder
        self._seed = desk.seed
        self._booked = desk.booked
        self._pins = desk.pins

    def fits(self, prompt_tokens: int) -> bool:
        """Whether a prompt fits into a worker."""
        return self.pool.worker(0).engine.fits(prompt_tokens)

    def choose(self, record: RequestState) -> Decision | Refused:
        """Ask the router, whether others wait there or not."""
        self._hear(record, inf)
        ranks = self._ranks(record, None)
        return ranks if isinstance(ranks, Refused) else self._choose(record, self._query(record, ranks))

    def admit(self, record: RequestState, go: Go, pinned: int | None = None, heard: float = inf) -> None:
        """Choose a worker and put the request on its books in one instant: the stage serves it from then on.

        That is now, or when its session is bound and the router's queue lets it go. `go` is told of it then,
        or that the request is refused. `pinned`: the rank that it is to be. `heard`: the router has heard
        from ranks up to this one what arrived at this very instant.
        """
        gate = self.pool.gate
        if gate is None or not gate.binds:
            self._admit(record, Entry(go, pinned), heard)
            return
        again = partial(self._again, record, go, pinned, heard)
        entered = gate.enter(record.request.session, self._clock.now_s, again)
        if isinstance(entered, Refused):
            go(entered)
        elif entered is not None:
            self._admit(record, Entry(go, pinned, entered), heard)

    def _again(self, record: RequestState, go: Go, pinned: int | None, heard: float) -> None:
        """The first request of its session has been dispatched, or never will be."""
        if not record.over:
            self.admit(record, go, pinned, heard)

    def _admit(self, record: RequestState, entry: Entry, heard: float) -> None:
        self._hear(record, heard)
        ranks, line = self._ranks(record, entry.pinned), self._line(record)
        if isinstance(ranks, Refused):
            self._refuse(entry, ranks)
        elif line is None:
            self._serve(record, entry, self._query(record, ranks))
        else:
            self._enter(record, entry, ranks, line)

    def _line(self, record: RequestState) -> RouterLine | None:
        """Return where requests wait at the router of a request's front end; None: nobody ever does."""
        return self.lines[record.front_end] if self.lines else None

    def _ranks(self, record: RequestState, pinned: int | None) -> Ranks | Refused:
        """Return where a request may go now."""
        pool, index = self.pool, record.request.index
        pin = self._pins.get(index) if self._pins else None
        if pin is not None and pin in pool:
            pinned = pool.rank(pin)
        if pool.gate is None:
            return Ranks(pinned, pool.alive)
        router = pool.replicas[record.front_end].router
        return pool.gate.ranks(record.request.session, pinned, pool.alive, router, self._clock.now_s)

    def _enter(self, record: RequestState, entry: Entry, ranks: Ranks, line: RouterLine) -> None:
        query = self._query(record, ranks)
        # It waits for whoever is alive then, or for the worker of its session.
        waiting = query._replace(allowed=ranks.allowed if ranks.bound else None)
        found = line.enter(waiting, partial(self._called, record, entry))
        now_s = self._clock.now_s
        if isinstance(found, Waiting):
            record.router_wait.begin(line, entry.ticket, now_s)
            return
        record.router_wait.end(now_s)
        if found is None:
            self._serve(record, entry, query)
        else:
            reason = f"{QUEUE_LIMIT} of class {found.policy_class}; {found.current} {found.kind} wait"
            self._refuse(entry, Refused(reason))

    def _called(self, record: RequestState, entry: Entry, waited: Query) -> None:
        """A request has waited: it is served by what is now, and by overlaps that the queue may know."""
        record.router_wait.end(self._clock.now_s)
        self._hear(record, inf)
        ranks = self._ranks(record, entry.pinned)
        if isinstance(ranks, Refused):
            self._refuse(entry, ranks)
        else:
            self._serve(record, entry, self._query(record, ranks)._replace(overlap=waited.overlap))

    def _refuse(self, entry: Entry, refused: Refused) -> None:
        if entry.ticket is not None:
            entry.ticket.ended(self._clock.now_s)
        entry.go(refused)

    def _serve(self, record: RequestState, entry: Entry, query: Query) -> None:
        decision = self._choose(record, query)
        if isinstance(decision, Refused):
            self._refuse(entry, decision)
            return
        pool, now_s, ticket = self.pool, self._clock.now_s, entry.ticket
        router = pool.replicas[record.front_end].router
        self._recorder.routed(record, decision, self.name, pool.members, now_s)
        booking = router.book(query, decision.chosen, now_s)
        if self._booked is not None:
            self._booked(record, pool, decision, booking)
        rank, line = decision.chosen.rank, self._line(record)
        visit = Visit(self.name, pool, router, rank, booking, decode=self.decode, line=line)
        visit.ticket = ticket
        record.booked(visit, decision.ties, now_s)
        if ticket is not None:
            ticket.dispatched(rank, now_s)
        entry.go(visit)

    def _hear(self, record: RequestState, heard: float) -> None:
        """Let the router hear what arrived until now, and at this very instant from ranks up to `heard`."""
        replica = self.pool.replicas[record.front_end]
        if replica.router.hears_events:
            self._lazy_updates.settle(self._clock.now_s, -1)
            replica.undelivered.open(self._clock.now_s, heard)

    def _choose(self, record: RequestState, query: Query) -> Decision | Refused:
        router = self.pool.replicas[record.front_end].router
        number = uniform(self._seed, f"route {self.name}", query.request)
        try:
            return router.choose(query, self._clock.now_s, number)
        except NoEligibleWorkerError:
            return NO_WORKER

    def _query(self, record: RequestState, ranks: Ranks) -> Query:
        request = record.request
        return Query(
            request.index,
            record.prompt_tokens,
            record.attention_blocks,
            session=request.session,
            overrides=self._overrides,
            allowed=ranks.allowed,
            pinned=ranks.pinned,
            priority_jump=float(max(request.priority, 0)),
            strict_priority=request.strict_priority,
            policy_class=request.policy_class,
            sequence=record.attention_sequence if self._follows_answers else (),
            hash_blocks=record.blocks,
        )
