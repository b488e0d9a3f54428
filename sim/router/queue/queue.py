"""A queue in front of a router: a request waits while all ranks that may serve it are busy (Dynamo 1.5.0).

Pure, as the router is. Who uses it asks it about every request that comes, lets it look again after every
first token and every end, and books who may go before asking who is next.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from sim.router.candidates import Candidates
from sim.router.eligible import NoEligibleWorkerError
from sim.router.index import Overlap
from sim.router.query import Query
from sim.router.queue.arbiter import Arbiter, CursorRule
from sim.router.queue.classes import QueueClass, QueueClasses
from sim.router.queue.lanes import ClassQueue, Key, Waiting, cost_tokens, score
from sim.router.router import Router

Ranks = frozenset[int] | None
"""Ranks of a pool; None: all."""


NO_OVERLAP: Final = Overlap(0, 0, 0)


class QueueRefusal(NamedTuple):
    """A limit of a class was reached before the request came: Dynamo answers with status 529."""

    policy_class: str
    kind: str
    """Of what there are too many: requests, raw_isl_tokens or cached_tokens."""
    current: int
    limit: int

    def __str__(self) -> str:
        """As Dynamo says it."""
        return (
            f'router policy class "{self.policy_class}" queue {self.kind} limit reached '
            f"(current={self.current}, limit={self.limit})"
        )


class RouterQueue:
    """The queue of one router.

    Args:
        router: in front of which requests wait.
        classes: of requests.
        rule: of the release, for the round of the classes.
        alive: which ranks there are now.
        ranks_per_worker: of the pool; limits are counted by worker.
        overlap_refresh_after_s: who waited so long is looked up in the index again; 0: nobody.
    """

    def __init__(
        self,
        router: Router,
        classes: QueueClasses,
        rule: CursorRule,
        *,
        alive: Callable[[], Ranks] = lambda: None,
        ranks_per_worker: int = 1,
        overlap_refresh_after_s: float = 10.0,
    ) -> None:
        self.router = router
        self.classes = classes
        self._alive = alive
        self._ranks_per_worker = ranks_per_worker
        self._refresh_after_s = overlap_refresh_after_s
        self._queues = [ClassQueue(settings) for settings in classes.classes]
        self._arbiter = Arbiter(self._queues, rule)
        self._waiting: dict[int, Waiting] = {}
        self._came = 0

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    def __contains__(self, request: int) -> bool:
        """Whether a request waits."""
        return request in self._waiting

    @property
    def isl_tokens(self) -> int:
        """Prompt tokens of those that wait."""
        return sum(queue.isl_tokens for queue in self._queues)

    def class_of(self, request: int) -> str:
        """Return the name of the class in which a request waits."""
        return self._queues[self._waiting[request].number].settings.name

    def enter(self, query: Query, now_s: float) -> Waiting | QueueRefusal | None:
        """A request comes; None: it does not wait, and is to be booked at once.

        `query.allowed` are ranks besides those that are not alive; None: there is no such demand.
        """
        cached_tokens: int | None = None
        number = self.classes.direct(query.policy_class)
        if number is None:
            cached_tokens = self._cached_tokens(query, now_s)
            number = self.classes.of(query.policy_class, query.isl_tokens - cached_tokens)
        queue = self._queues[number]
        busy_tokens = queue.settings.busy_tokens
        has_to_wait = busy_tokens is not None and (
            queue.waits_before(query) or self._all_busy(query, busy_tokens, now_s)
        )
        if not has_to_wait:
            self._arbiter.passed(number)
            return None
        if cached_tokens is None:
            cached_tokens = self._cached_tokens(query, now_s)
        refusal = self._refusal(queue)
        if refusal is not None:
            return refusal
        key = self._key(query, queue.settings, now_s, cached_tokens)
        overlap = self._overlap(query, now_s)
        waiting = Waiting(query, number, key, now_s, cached_tokens=cached_tokens, overlap=overlap)
        queue.push(waiting)
        self._waiting[query.request] = waiting
        return waiting

    def next(self, now_s: float) -> Query | None:
        """Return who goes now, with the overlaps to choose by; None: nobody. To be booked before the next.

        `query.overlap` None: what workers hold by now counts, the request having waited long.
        """
        if not self._waiting:
            return None
        waiting = self._arbiter.next(lambda head: self._can_go(head, now_s))
        if waiting is None:
            return None
        query = waiting.query
        del self._waiting[query.request]
        stale = 0 < self._refresh_after_s <= now_s - waiting.arrival_s
        return query if stale else query._replace(overlap=waiting.overlap)

    def leave(self, request: int) -> bool:
        """A request is waited for no longer; return whether it was here."""
        waiting = self._waiting.pop(request, None)
        if waiting is None:
            return False
        self._queues[waiting.number].remove(waiting)
        return True

    def _can_go(self, head: Waiting, now_s: float) -> bool:
        busy_tokens = self._queues[head.number].settings.busy_tokens
        return busy_tokens is None or not self._all_busy(head.query, busy_tokens, now_s)

    def _all_busy(self, query: Query, busy_tokens: float, now_s: float) -> bool:
        """Whether every rank that may serve a request is busy; without any, the router is to say so."""
        terms = self._terms(query._replace(overlap=NO_OVERLAP), now_s)  # which do not matter here
        return terms is not None and bool(np.all(terms.column("active_prefill_tokens") > busy_tokens))

    def _terms(self, query: Query, now_s: float) -> Candidates | None:
        """Return the terms of the ranks that may serve a request and are there now; None: none may."""
        try:
            return self.router.terms(self._now(query), now_s)
        except NoEligibleWorkerError:
            return None

    def _overlap(self, query: Query, now_s: float) -> Overlap:
        """Return what every rank holds of a prompt now, whether it is alive or not."""
        everywhere = Query(query.request, query.isl_tokens, query.blocks, overlap=query.overlap)
        terms = self.router.terms(everywhere, now_s)
        return Overlap(*map(terms.column, ("device_blocks", "host_blocks", "disk_blocks")))

    def _now(self, query: Query) -> Query:
        """Return a query for the ranks that there are now."""
        alive = self._alive()
        if alive is None:
            return query
        return query._replace(allowed=alive if query.allowed is None else alive & query.allowed)

    def _cached_tokens(self, query: Query, now_s: float) -> int:
        """Return how much of a prompt the best of its ranks holds."""
        terms = self._terms(query, now_s)
        return 0 if terms is None else min(int(np.max(terms.column("cached_tokens"))), query.isl_tokens)

    def _refusal(self, queue: ClassQueue) -> QueueRefusal | None:
        settings, workers = queue.settings, self._workers()
        for kind, current, limit in (
            ("requests", queue.requests, settings.most_requests),
            ("raw_isl_tokens", queue.isl_tokens, settings.most_isl_tokens),
            ("cached_tokens", queue.cached_tokens, settings.most_cached_tokens),
        ):
            if limit is not None and current >= limit * workers:
                return QueueRefusal(settings.name, kind, current, limit * workers)
        return None

    def _workers(self) -> int:
        """Return how many workers there are, each of some ranks."""
        alive = self._alive()
        ranks = range(len(self.router.loads.requests)) if alive is None else alive
        return len({rank // self._ranks_per_worker for rank in ranks})

    def _key(self, query: Query, settings: QueueClass, now_s: float, cached_tokens: int) -> Key:
        self._came += 1
        cost = cost_tokens(query.isl_tokens, cached_tokens)
        return (
            -query.strict_priority,
            -score(settings.order, now_s, query.priority_jump, cost),
            self._came,
        )
