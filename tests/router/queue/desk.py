"""A router with a queue for tests: it is told what comes and ends, and says who was let go."""

from collections.abc import Sequence

from sim.router import Booking, Query, Router, RouterConfig
from sim.router.queue.arbiter import BYPASSES, CursorRule
from sim.router.queue.classes import queue_classes
from sim.router.queue.queue import QueueRefusal, RouterQueue

BLOCK = 16


class Desk:
    """Prompts share no block unless `blocks` are given; a rank is one worker."""

    def __init__(
        self,
        ranks: int = 1,
        *,
        rule: CursorRule = BYPASSES,
        refresh_s: float = 10.0,
        ranks_per_worker: int = 1,
        batched_tokens: int | None = 1000,
        **settings: object,
    ) -> None:
        config = RouterConfig(**settings)
        classes = queue_classes(config, max_num_batched_tokens=batched_tokens)
        assert classes is not None
        self.alive: frozenset[int] | None = None
        self.router = Router(config, BLOCK, ranks)
        self.queue = RouterQueue(
            self.router,
            classes,
            rule,
            alive=lambda: self.alive,
            ranks_per_worker=ranks_per_worker,
            overlap_refresh_after_s=refresh_s,
        )
        self.refusals: list[QueueRefusal] = []
        self.bookings: dict[int, Booking] = {}
        self.credits: dict[int, int] = {}
        """Cached tokens by which each request was booked."""
        self._came = 0
        self._next_block = 1 << 20

    def come(
        self,
        isl_tokens: int,
        now_s: float = 0.0,
        *,
        blocks: Sequence[int] | None = None,
        **demands: object,
    ) -> int | None:
        """A request comes; return its number if it does not wait."""
        number, self._came = self._came, self._came + 1
        if blocks is None:
            start = self._next_block
            self._next_block += isl_tokens // BLOCK
            blocks = range(start, self._next_block)
        query = Query(number, isl_tokens, blocks, **demands)
        found = self.queue.enter(query, now_s)
        if isinstance(found, QueueRefusal):
            self.refusals.append(found)
        if found is not None:
            return None
        self._book(query, now_s)
        return number

    def first_token(self, number: int, now_s: float = 0.0) -> list[int]:
        """A request has its first token; return who is let go."""
        self.router.first_token(self.bookings[number], now_s)
        return self.look(now_s)

    def free(self, number: int, now_s: float = 0.0) -> list[int]:
        """A request ends; return who is let go."""
        self.router.free(self.bookings[number], now_s)
        return self.look(now_s)

    def look(self, now_s: float = 0.0) -> list[int]:
        """Let all go that may."""
        gone = []
        while (query := self.queue.next(now_s)) is not None:
            self._book(query, now_s)
            gone.append(query.request)
        return gone

    def _book(self, query: Query, now_s: float) -> None:
        chosen = self.router.choose(query, now_s, 0.0).chosen
        self.credits[query.request] = chosen.cached_tokens
        self.bookings[query.request] = self.router.book(query, chosen, now_s)


def two_classes(
    *, short: dict[str, object] | None = None, long: dict[str, object] | None = None
) -> dict[str, object]:
    """Prompts below 500 uncached tokens (quantum 800), and from there on (quantum 400)."""
    return {
        "default_policy_family": "std",
        "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "s"}, {"min_tokens": 500, "bucket": "l"}],
        "policy_classes": [
            {"name": "short", "policy_family": "std", "cache_bucket": "s", "quantum": 800} | (short or {}),
            {"name": "long", "policy_family": "std", "cache_bucket": "l", "quantum": 400} | (long or {}),
        ],
    }
