"""One stage of serving requests: a router chooses among the workers of a pool, and books."""

from collections.abc import Callable, Mapping
from math import inf
from typing import NamedTuple

from sim.base.uniform import uniform
from sim.cluster.pool import Pool
from sim.cluster.recorder import Recorder
from sim.cluster.reports import Reports
from sim.cluster.request_state import RequestState, Visit
from sim.cluster.true_caches import TrueCaches
from sim.engine.active import ActiveRequest
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.router import Booking, Decision, NoEligibleWorkerError, Overrides, Query
from sim.router.query import NO_OVERRIDES

Booked = Callable[[RequestState, Pool, Decision, Booking], None]
"""Is told of every booking, right after it was made."""


class Refused(NamedTuple):
    """No worker serves the request."""

    reason: str
    """As in the table of requests."""


NO_WORKER = Refused("no_eligible_worker")
Go = Callable[[Visit | Refused], None]
"""Is told what became of a request that a stage was to admit."""


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
    ) -> None:
        self.name = name
        self.pool = pool
        self.ask = ask
        self.too_long = too_long
        self.decode = decode
        self._overrides = overrides
        self._clock = desk.clock
        self._lazy_updates = desk.lazy_updates
        self._recorder = desk.recorder
        self._seed = desk.seed
        self._booked = desk.booked
        self._pins = desk.pins

    def fits(self, prompt_tokens: int) -> bool:
        """Whether a prompt fits into a worker."""
        return self.pool.worker(0).engine.fits(prompt_tokens)

    def choose(self, record: RequestState, pinned: int | None = None, heard: float = inf) -> Decision | None:
        """Ask the router, who has heard from ranks up to `heard` what arrived at this very instant.

        `pinned`: the rank that it is to be. None: no worker may serve the request.
        """
        now_s, router = self._clock.now_s, self.pool.router
        pin = self._pins.get(record.request.index) if self._pins else None
        if pin is not None and pin in self.pool:
            pinned = self.pool.rank(pin)
        if router.keeps_index:
            self._lazy_updates.settle(now_s, -1)
            self.pool.undelivered.open(now_s, heard)
        number = uniform(self._seed, f"route {self.name}", record.request.index)
        try:
            return router.choose(self._query(record, pinned), now_s, number)
        except NoEligibleWorkerError:
            return None

    def admit(self, record: RequestState, go: Go, pinned: int | None = None, heard: float = inf) -> None:
        """Choose a worker and put the request on its books in one instant: the stage serves it from now on.

        `go` is told of it then, or that the request is refused. Other arguments as for `choose`.
        """
        decision = self.choose(record, pinned, heard)
        if decision is None:
            go(NO_WORKER)
            return
        pool, now_s = self.pool, self._clock.now_s
        self._recorder.routed(record, decision, self.name, pool.members, now_s)
        booking = pool.router.book(self._query(record), decision.chosen, now_s)
        if self._booked is not None:
            self._booked(record, pool, decision, booking)
        visit = Visit(self.name, pool, pool.router, decision.chosen.rank, booking, decode=self.decode)
        record.booked(visit, decision.ties, now_s)
        go(visit)

    def _query(self, record: RequestState, pinned: int | None = None) -> Query:
        request = record.request
        return Query(
            request.index,
            record.prompt_tokens,
            record.attention_blocks,
            session=request.session,
            overrides=self._overrides,
            allowed=self.pool.alive,
            pinned=pinned,
            hash_blocks=record.blocks,
        )
