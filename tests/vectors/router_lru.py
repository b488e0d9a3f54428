"""A live front end whose index drops the least recently used, against the core's."""

from collections.abc import Iterable, Iterator
from copy import deepcopy

from sim.router import Booking, Router, RouterConfig
from sim.router.candidates import Candidates
from sim.router.query import Query
from tests.vectors.router_service import BlockIds, settings_of
from tests.vectors.router_tally import LOGIT_WITHIN, Row, Rows, Tally

NEAR_S = 0.035
"""What happens so close to a choice may have come before or after it."""


class LiveRouter:
    """The core as the front end's router, and what is still to happen to its requests."""

    def __init__(self, scenario: Row) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        blocks = [scenario["total_kv_blocks"]] * len(self.ranks)
        config = RouterConfig(**settings_of(scenario))
        self.router = Router(config, scenario["block_size"], len(blocks), total_kv_blocks=blocks)
        self._ids = BlockIds()
        self._due: list[tuple[float, int, bool, Booking]] = []

    def query(self, row: Row) -> Query:
        """Return a recorded request as the core knows it."""
        blocks = self._ids.of(row["prompt_blocks"])
        return Query(request=0, isl_tokens=row["isl_tokens"], blocks=blocks, session=row["session_id"])

    def book(self, row: Row, query: Query, terms: Candidates) -> None:
        """Book a request where the recording did."""
        booking = self.router.book(query, terms[self.ranks.index(tuple(row["chosen"]))], row["t"])
        for ends, key in ((False, "first_token_after_ms"), (True, "end_after_ms")):
            self._due.append((row["t"] + row[key] / 1000, len(self._due), ends, booking))

    def proceed(self, until_s: float, now_s: float) -> None:
        """Let happen what is due until a time, at the latest now."""
        due = sorted((each for each in self._due if each[0] <= until_s), key=lambda each: each[:2])
        self._due = [each for each in self._due if each[0] > until_s]
        for due_s, _, ends, booking in due:
            (self.router.free if ends else self.router.first_token)(booking, min(due_s, now_s))

    def as_it_may_be(self, now_s: float) -> Iterator["LiveRouter"]:
        """Yield it as it is now, with whatever is near in order, still to come, or past."""
        near = any(abs(due_s - now_s) < NEAR_S for due_s, *_ in self._due)
        for until_s in (now_s, now_s - NEAR_S, now_s + NEAR_S) if near else (now_s,):
            it = deepcopy(self) if near else self
            it.proceed(until_s, now_s)
            yield it


def unlike_choice(live: LiveRouter, row: Row, terms: Candidates) -> Iterable[str]:
    """Compare a choice, and the cost of who was chosen."""
    rank, logit = live.ranks.index(tuple(row["chosen"])), row["logged"]["selected_logit"]
    if rank not in terms.cheapest():
        yield f"chosen: recorded {row['chosen']}, ours one of {[live.ranks[r] for r in terms.cheapest()]}"
    if abs(terms[rank].cost - logit) > LOGIT_WITHIN:
        yield f"selected_logit: recorded {logit!r}, ours {terms[rank].cost!r}"


def replay_lru(rows: Rows, tally: Tally) -> None:
    """Replay one recording, whose requests take as long as their workers were told to."""
    live = LiveRouter(rows[0][1])
    for where, row in rows[1:]:
        if row["op"] != "request":
            continue
        now_s = row["t"]
        tried = []
        for may_be in live.as_it_may_be(now_s):
            query = may_be.query(row)
            terms = may_be.router.terms(query, now_s)
            tried.append((may_be, query, terms, [*unlike_choice(may_be, row, terms)]))
        live, query, terms, found = min(tried, key=lambda each: len(each[3]))
        tally.decided("decisions with a least recently used index", where, found)
        live.book(row, query, terms)
