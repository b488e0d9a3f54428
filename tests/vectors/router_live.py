"""Live front ends with session affinity, busy thresholds and conditional disaggregation, against the core."""

import json
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from sim.cluster.gate import Gate, Ticket
from sim.cluster.refused import Refused
from sim.router import Booking, Query, Router, RouterConfig
from sim.router.affinity import Affinity
from sim.router.busy import Limits
from sim.router.candidates import Candidates
from tests.vectors.router_service import BlockIds, settings_of
from tests.vectors.router_tally import LOGIT_WITHIN, Row, Rows, Tally, unlike

NEAR_S = 0.035
"""What happens so close to a choice may have come before or after it: nothing is compared then."""
PRINTED_WITHIN = 0.5e-3 + 1e-9
"""The logit of a pinned choice is printed with three decimals."""
TOKENS_A_STEP = 8192
KINDS = {"--router-session-affinity-ttl-secs": "session affinity", "--active-": "busy thresholds"}


class Timeline:
    """What is still to happen to the requests of a front end."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._count = 0

    def at(self, time_s: float, act: Callable[[float], None]) -> None:
        """Let something happen at a time, of which it is told."""
        self._count += 1
        heappush(self._due, (time_s, self._count, act))

    def proceed(self, now_s: float) -> None:
        """Let happen what is due by now."""
        while self._due and self._due[0][0] <= now_s:
            time_s, _, act = heappop(self._due)
            act(time_s)

    def near(self, now_s: float) -> bool:
        """Whether something is due so close to now that it may have happened before or after."""
        return any(abs(time_s - now_s) < NEAR_S for time_s, _, _ in self._due)


def flags_of(scenario: Row) -> Row:
    """Return what the flags of a recorded front end say, under the core's names."""
    flags = scenario["flags"]
    return {
        flag.removeprefix("--").removeprefix("router-").replace("-", "_"): json.loads(value)
        if value[0] in "{0123456789"
        else value
        for flag, value in zip(flags, flags[1:], strict=False)
        if flag.startswith("--") and not value.startswith("--")
    }


class LiveFrontend:
    """The core as one pool's router, with what stands before it."""

    def __init__(self, scenario: Row) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        config = RouterConfig(**settings_of(scenario), **flags_of(scenario))
        self.router = Router(config, scenario["block_size"], len(self.ranks))
        ttl_s = config.session_affinity_ttl_secs
        self.gate = Gate(
            len(self.ranks),
            Affinity(ttl_s) if ttl_s is not None else None,
            soft=config.session_affinity_mode == "soft",
            limits=Limits.of(config, TOKENS_A_STEP) if config.has_thresholds else None,
        )
        self.timeline = Timeline()
        self._ids = BlockIds()

    def query(self, row: Row, pinned: int | None, allowed: frozenset[int] | None) -> Query:
        """Return a recorded request as the core knows it."""
        blocks = self._ids.of(row["prompt_blocks"])
        return Query(0, row["isl_tokens"], blocks, row["session_id"], allowed=allowed, pinned=pinned)

    def compare(self, row: Row) -> Iterator[str]:
        """Compare where a request goes, if anywhere."""
        now_s, chosen = row["t"], row["chosen"]
        ranks = self.gate.ranks(row["session_id"], None, None, self.router, now_s)
        if isinstance(ranks, Refused):
            yield from unlike("chosen", chosen, None)
            return
        if chosen is None:
            yield f"chosen: recorded none, ours one of {ranks}"
            return
        terms = self.router.terms(self.query(row, *ranks), now_s)
        rank, logged = self.ranks.index(tuple(chosen)), row["logged"]
        pinned = ranks.pinned is not None
        yield from unlike("kind", logged["kind"], "Selected pinned" if pinned else "Selected")
        yield from unlike_choice(terms, rank, logged["selected_logit"], pinned=pinned)

    def go_on(self, row: Row) -> None:
        """Do what the recorded front end did, and let its worker answer."""
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
        query = self.query(row, rank, None)
        booking = self.router.book(query, self.router.terms(query, now_s)[0], now_s)
        if ticket is not None:
            ticket.dispatched(rank, now_s)

        def end(end_s: float) -> None:
            self.router.free(booking, end_s)
            if ticket is not None:
                ticket.ended(end_s)

        first_s, end_s = (now_s + row[key] / 1000 for key in ("first_token_after_ms", "end_after_ms"))
        self.timeline.at(first_s, lambda at_s: self.router.first_token(booking, at_s))
        self.timeline.at(end_s, end)


def unlike_choice(terms: Candidates, rank: int, logit: float, *, pinned: bool) -> Iterator[str]:
    """Compare a choice, and the cost of who was chosen."""
    if rank not in terms.cheapest():
        yield f"chosen: recorded {rank}, ours one of {terms.cheapest()}"
    costs = {each.rank: each.cost for each in terms}
    if rank in costs and abs(costs[rank] - logit) > (PRINTED_WITHIN if pinned else LOGIT_WITHIN):
        yield f"selected_logit: recorded {logit!r}, ours {costs[rank]!r}"


def replay_live(rows: Rows, tally: Tally) -> None:
    """Replay one recording, whose requests take as long as their workers were told to."""
    front = LiveFrontend(rows[0][1])
    for where, row in rows[1:]:
        if row["op"] != "request":
            continue
        front.timeline.proceed(row["t"])
        if front.timeline.near(row["t"]):
            tally.passed_over("decisions of live front ends", where)
        else:
            tally.decided("decisions of live front ends", where, front.compare(row))
        front.go_on(row)
