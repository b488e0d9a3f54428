"""Live front ends before one pool: session affinity, busy thresholds, an index without events.

Requests take as long as their workers were told to; when the front end saw of it is not recorded. What lies
within `NEAR_S` of a choice may have come before or after it. Where a choice does not agree as things were
told, what comes so near is cut off before each of its events in turn, and such choices are counted.
"""

import json
from collections.abc import Iterator
from copy import deepcopy

from sim.cluster.gate import Gate, Ticket
from sim.cluster.refused import Refused
from sim.router import Booking, Query, Router, RouterConfig
from sim.router.affinity import Affinity
from sim.router.busy import Limits
from sim.router.candidates import Candidates
from tests.vectors.router_service import BlockIds, settings_of
from tests.vectors.router_tally import LOGIT_WITHIN, Row, Rows, Tally, unlike

NEAR_S = 0.035
"""What happens so close to a choice may have come before or after it."""
REPORTED_WITHIN_S = 1e-3
"""What has happened by a choice has been reported by then too."""
PRINTED_WITHIN = 0.5e-3 + 1e-9
"""The logit of a pinned choice is printed with three decimals."""
TOKENS_A_STEP = 8192
"""Of the recorded workers; no recorded threshold is a share of it."""


def flags_of(scenario: Row) -> Row:
    """Return what the flags of a recorded front end say, under the core's names."""
    flags = scenario["flags"]
    found: Row = {}
    for flag, value in zip(flags, flags[1:], strict=False):
        if flag.startswith("--") and not value.startswith("--"):
            name = flag.removeprefix("--").removeprefix("router-").replace("-", "_")
            found[name] = value if value.isalpha() else json.loads(value)
    return found


class LiveFrontend:
    """The core as the router of one pool, what stands before it, and what is still to happen to requests."""

    def __init__(self, scenario: Row) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        count, blocks = len(self.ranks), scenario.get("total_kv_blocks")
        config = RouterConfig(**{**settings_of(scenario), **flags_of(scenario)})
        self.router = Router(
            config,
            scenario["block_size"],
            count,
            total_kv_blocks=None if blocks is None else [blocks] * count,
        )
        ttl_s = config.session_affinity_ttl_secs
        self.gate = Gate(
            count,
            Affinity(ttl_s) if ttl_s is not None else None,
            soft=config.session_affinity_mode == "soft",
            limits=Limits.of(config, TOKENS_A_STEP) if config.has_thresholds else None,
        )
        self._ids = BlockIds()
        self._due: list[tuple[float, int, bool, Booking, Ticket | None]] = []

    def _query(self, row: Row, pinned: int | None, allowed: frozenset[int] | None) -> Query:
        blocks = self._ids.of(row["prompt_blocks"])
        return Query(0, row["isl_tokens"], blocks, row["session_id"], allowed=allowed, pinned=pinned)

    def proceed(self, until_s: float, now_s: float) -> None:
        """Let happen what is due until a time, at the latest now."""
        due = sorted((each for each in self._due if each[0] <= until_s), key=lambda each: each[:2])
        self._due = [each for each in self._due if each[0] > until_s]
        for due_s, _, ends, booking, ticket in due:
            happened_s = min(due_s, now_s - REPORTED_WITHIN_S)
            (self.router.free if ends else self.router.first_token)(booking, happened_s)
            if ends and ticket is not None:
                ticket.ended(happened_s)

    def as_it_may_be(self, now_s: float) -> Iterator["LiveFrontend"]:
        """Yield it as it is now, then with more and more of what is near in the past."""
        near = sorted({each[0] for each in self._due if abs(each[0] - now_s) < NEAR_S})
        before = deepcopy(self) if near else self
        self.proceed(now_s, now_s)
        yield self
        for until_s in [now_s - NEAR_S, *near] if near else ():
            other = deepcopy(before)
            other.proceed(until_s, now_s)
            yield other

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
        terms = self.router.terms(self._query(row, *ranks), now_s)
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
        for ends, key in ((False, "first_token_after_ms"), (True, "end_after_ms")):
            self._due.append((now_s + row[key] / 1000, len(self._due), ends, booking, ticket))


def unlike_choice(terms: Candidates, rank: int, logit: float, *, pinned: bool = False) -> Iterator[str]:
    """Compare a choice, and the cost of who was chosen."""
    if rank not in terms.cheapest():
        yield f"chosen: recorded {rank}, ours one of {terms.cheapest()}"
    costs = {each.rank: each.cost for each in terms}
    if rank in costs and abs(costs[rank] - logit) > (PRINTED_WITHIN if pinned else LOGIT_WITHIN):
        yield f"selected_logit: recorded {logit!r}, ours {costs[rank]!r}"


def replay_live(rows: Rows, tally: Tally) -> None:
    """Replay one recording."""
    front = LiveFrontend(rows[0][1])
    for where, row in rows[1:]:
        if row["op"] != "request":
            continue
        tried = []
        for may_be in front.as_it_may_be(row["t"]):
            tried.append((may_be, [*may_be.unlike(row)]))
            if not tried[-1][1]:
                break
        front, found = min(tried, key=lambda each: len(each[1]))
        tally.decided("decisions of live front ends", where, found)
        if len(tried) > 1:
            tally.compared("of these decided by what came within 35 ms", where, found)
        front.go_on(row)
