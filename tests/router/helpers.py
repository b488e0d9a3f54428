"""Short forms for the router's tests."""

from collections.abc import Sequence
from typing import Any

from sim.router import Booking, Query, Router

BLOCK = 16
"""Tokens a block."""


def query(blocks: Sequence[int] = (), tail_tokens: int = 1, **more: Any) -> Query:
    """Return a query for a prompt of these blocks and some tokens more."""
    return Query(request=0, isl_tokens=len(blocks) * BLOCK + tail_tokens, blocks=blocks, **more)


def book_on(router: Router, rank: int, what: Query, now_s: float = 0.0) -> Booking:
    """Book a request on a rank, whatever it costs there."""
    terms = {t.rank: t for t in router.terms(what, now_s)}
    return router.book(what, terms[rank], now_s)


def load(router: Router) -> tuple[list[int], list[int], list[int]]:
    """Return booked prefill tokens, active blocks and requests of each rank."""
    loads = router.loads
    return list(loads.prefill_tokens), list(loads.active_blocks), list(loads.requests)
