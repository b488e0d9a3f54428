"""Where a request may go at all: to ranks that live, are not busy, and to which its session is bound.

Dynamo's front end looks at this before its router chooses, whatever chooses then (1.5.0 and 1.6.1, `kv` and
round robin alike). Its modes without a KV router book no prompt tokens, so that thresholds of those do
nothing there; here every policy's router keeps books, and they hold.
"""

from collections.abc import Callable
from typing import NamedTuple

from sim.cluster.refused import BUSY, NO_WORKER, SESSION_LIMIT, Refused
from sim.router import Router
from sim.router.affinity import Affinity, Hold, SessionLimitError
from sim.router.busy import Limits
from sim.router.report import WorkerReport


class Ranks(NamedTuple):
    """Of a pool, for a query."""

    pinned: int | None
    """The only one that will do."""
    allowed: frozenset[int] | None
    """Those to choose from; None: all."""
    bound: bool = False
    """Whether it is its session that says so."""


class Ticket:
    """What a request has of its session's binding, from before it is routed until it has ended there."""

    __slots__ = ("_gate", "_hold")

    def __init__(self, gate: "Gate", hold: Hold) -> None:
        self._gate = gate
        self._hold = hold

    @property
    def session(self) -> str:
        """Whose binding it is."""
        return self._hold.session

    def dispatched(self, rank: int, now_s: float) -> None:
        """The request goes to a rank: its session is bound to it, if it is the first."""
        self._gate.dispatched(self._hold, rank, now_s)

    def ended(self, now_s: float) -> None:
        """The request has ended there, or never went there."""
        self._gate.ended(self._hold, now_s)


class Gate:
    """Of one pool.

    Args:
        ranks: how many there are.
        affinity: its bindings; None: sessions are bound to nothing.
        soft: whether a request whose worker is busy goes elsewhere.
        limits: above which a worker is busy; None: never.
        report: what workers say of themselves, by rank; None: nobody reads it.
        busy: how a request is refused if all ranks are busy.
    """

    def __init__(
        self,
        ranks: int,
        affinity: Affinity | None,
        *,
        soft: bool = False,
        limits: Limits | None = None,
        report: Callable[[int], WorkerReport] | None = None,
        busy: Refused = BUSY,
    ) -> None:
        self._all = frozenset(range(ranks))
        self._affinity = affinity
        self._soft = soft
        self._limits = limits
        self._report = report
        self._refusal = busy
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        """By session, requests that wait for its first one to be dispatched, in order."""

    def enter(self, session: str, now_s: float, again: Callable[[], None]) -> Ticket | Refused | None:
        """Let a request in; None: it waits for the first of its session, `again` is called when that is over.

        Without affinity there is nothing to wait for, and no ticket either: ask `binds` before.
        """
        assert self._affinity is not None
        try:
            hold = self._affinity.take(session, now_s)
        except SessionLimitError:
            return SESSION_LIMIT
        if hold is None:
            self._waiting.setdefault(session, []).append(again)
            return None
        return Ticket(self, hold)

    @property
    def binds(self) -> bool:
        """Whether sessions are bound to ranks."""
        return self._affinity is not None

    def ranks(
        self, session: str, pinned: int | None, alive: frozenset[int] | None, router: Router, now_s: float
    ) -> Ranks | Refused:
        """Return where a request may go now, of the ranks that are alive, by the bookings of its router."""
        busy = self._busy(router, now_s)
        free = alive if not busy else (self._all if alive is None else alive) - busy
        bound = self._affinity.rank(session, now_s) if self._affinity is not None else None
        if pinned is None and bound is not None:
            if not self._soft:
                pinned = bound
            elif free is None or bound in free:
                return Ranks(None, frozenset((bound,)), bound=True)
        if pinned is not None:
            if alive is not None and pinned not in alive:
                return NO_WORKER
            return self._refusal if pinned in busy else Ranks(pinned, free)
        if free is not None and not free:
            return self._refusal if busy else NO_WORKER
        return Ranks(None, free)

    def _busy(self, router: Router, now_s: float) -> frozenset[int]:
        if self._limits is None:
            return frozenset()
        prefill = router.reported_prefill(now_s)
        return frozenset(
            rank
            for rank in self._all
            if self._limits.passed(
                prefill[rank] if prefill is not None else 0,
                self._report(rank) if self._report is not None else None,
            )
        )

    def dispatched(self, hold: Hold, rank: int, now_s: float) -> None:
        """A request goes to a rank; those that wait for it learn where its session is bound."""
        assert self._affinity is not None
        self._affinity.bind(hold, rank, now_s)
        self._wake(hold.session)

    def ended(self, hold: Hold, now_s: float) -> None:
        """A request has ended, or was refused; if it was to be the first of its session, another one is."""
        assert self._affinity is not None
        self._affinity.release(hold, now_s)
        self._wake(hold.session)

    def _wake(self, session: str) -> None:
        for again in self._waiting.pop(session, ()):
            again()

    def leave_out(self, rank: int) -> None:
        """A rank is gone: no session is bound to it any more."""
        if self._affinity is not None:
            self._affinity.forget(rank)

    def start_anew(self) -> None:
        """The front end starts anew: it knows of no binding."""
        if self._affinity is not None:
            self._affinity.clear()
