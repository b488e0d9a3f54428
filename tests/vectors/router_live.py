"""Live front ends before one pool: session affinity, busy thresholds, an index without events."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from sim.cluster.gate import Gate, Ticket
from sim.cluster.refused import Refused
from sim.router import Booking, Query, Router, RouterConfig
from sim.router.affinity import Affinity
from sim.router.busy import Limits
from tests.vectors.live_requests import Underway, decided, unlike_choice
from tests.vectors.router_service import BlockIds, settings_of
from tests.vectors.router_tally import Row, Rows, Tally, unlike

TOKENS_A_STEP = 8192
"""Of the recorded workers; no recorded threshold is a share of it."""


def flags_of(scenario: Row) -> Row:
    """Return what the flags of a recorded front end say, under the core's names."""
    found: Row = {}
    for flag, value in pairwise(scenario["flags"]):
        if flag.startswith("--") and not value.startswith("--"):
            name = flag.removeprefix("--").removeprefix("router-").replace("-", "_")
            found[name] = value if value.isalpha() else json.loads(value)
    return found


class LiveFrontend(Underway):
    """The core as the router of one pool, what stands before it, and its requests."""

    def __init__(self, scenario: Row) -> None:
        super().__init__()
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        count, blocks = len(self.ranks), scenario.get("total_kv_blocks")
        config = RouterConfig(**{**settings_of(scenario), **flags_of(scenario)})
        pools = None if blocks is None else [blocks] * count
        self.router = Router(config, scenario["block_size"], count, total_kv_blocks=pools)
        ttl_s = config.session_affinity_ttl_secs
        self.gate = Gate(
            count,
            Affinity(ttl_s) if ttl_s is not None else None,
            soft=config.session_affinity_mode == "soft",
            limits=Limits.of(config, TOKENS_A_STEP) if config.has_thresholds else None,
        )
        self._ids = BlockIds()

    def _query(self, row: Row, pinned: int | None, allowed: frozenset[int] | None) -> Query:
        blocks = self._ids.of(row["prompt_blocks"])
        return Query(0, row["isl_tokens"], blocks, row["session_id"], allowed=allowed, pinned=pinned)

    def unlike(self, row: Row) -> Iterator[str]:
        """Compare where a request goes, if anywhere."""
        now_s, chosen = row["t"], row["chosen"]
        ranks = self.gate.ranks(row["session_id"], None, None, self.router, now_s)
        if isinstance(ranks, Refused):
            yield from unlike("chosen", chosen, None)
            return
        if chosen is None:
            yield f"chosen: recorded none, ours one of {ranks}"
            return
        terms = self.router.terms(self._query(row, ranks.pinned, ranks.allowed), now_s)
        pinned = ranks.pinned is not None
        yield from unlike("kind", row["logged"]["kind"], "Selected pinned" if pinned else "Selected")
        rank = self.ranks.index(tuple(chosen))
        yield from unlike_choice(terms, rank, row["logged"]["selected_logit"], pinned=pinned)

    def go_on(self, row: Row) -> None:
        """Do what the recorded front end did."""
        now_s, chosen = row["t"], row["chosen"]
        ticket: Ticket | None = None
        if self.gate.binds and row["session_id"] is not None:
            entered = self.gate.enter(row["session_id"], now_s, lambda: None)
            assert isinstance(entered, Ticket)
            ticket = entered
        if chosen is None:
            if ticket is not None:
                ticket.ended(now_s)
            return
        rank = self.ranks.index(tuple(chosen))
        query = self._query(row, rank, None)
        booking = self.router.book(query, self.router.terms(query, now_s)[0], now_s)
        if ticket is not None:
            ticket.dispatched(rank, now_s)
        self.at(now_s + row["first_token_after_ms"] / 1000, partial(self.router.first_token, booking))
        self.at(now_s + row["end_after_ms"] / 1000, partial(self._end, booking, ticket))

    def _end(self, booking: Booking, ticket: Ticket | None, now_s: float) -> None:
        self.router.free(booking, now_s)
        if ticket is not None:
            ticket.ended(now_s)


def replay_live(rows: Rows, tally: Tally) -> None:
    """Replay one recording."""
    front = LiveFrontend(rows[0][1])
    for where, row in rows[1:]:
        if row["op"] == "request":
            compare = partial(LiveFrontend.unlike, row=row)
            front = decided(front, row["t"], compare, tally, kind="live front ends", where=where)
            front.go_on(row)
