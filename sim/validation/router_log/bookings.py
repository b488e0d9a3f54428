"""The router's books again, from requests alone: what each choice of a recorded run should have cost.

A real `Router` is given every request when its worker was chosen, books it on the recorded worker, and lets
go of it when the router saw its first token and its end (late, where many tokens were read at once). What the
workers' caches held is told from outside: as the log has it, or as somebody predicts it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from sim.kv.prefix import PrefixTable
from sim.measured.formats.router_log import LoggedDecision
from sim.measured.request import MeasuredRequest
from sim.router import Booking, CostTerms, Overrides, Query, Router
from sim.router.index import Overlap
from sim.router.overrides import NO_OVERRIDES
from sim.router.pools import decode_stage, prefill_stage
from sim.scenario.scenario import Scenario
from sim.validation.replay.recording import Recording

Rank = tuple[int, int]
"""Dynamo's id of a worker, and the data-parallel rank in it."""
Overlaps = Callable[[MeasuredRequest, LoggedDecision], Mapping[Rank, float]]
"""Blocks of the prompt that each candidate holds in any tier, weighted; one that is left out holds none."""


class EventKind(IntEnum):
    """What the books hear of, in the order in which they hear it at one time."""

    FIRST_TOKEN = 0
    END = 1
    CHOICE = 2


class RouterEvent(NamedTuple):
    """One entry of the books."""

    time_s: float
    """Seconds of the run."""
    moment: EventKind
    request: MeasuredRequest
    decision: LoggedDecision
    """The choice that it is about."""

    @property
    def rank(self) -> Rank:
        """Where the request is booked."""
        return self.decision.worker_id, self.decision.dp_rank


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A logged choice, and the terms that the books make of it."""

    choice: RouterEvent
    terms: Mapping[Rank, CostTerms]
    """Of every logged candidate."""


def router_events(recorded: Recording) -> dict[str, list[RouterEvent]]:
    """Return by pool, prefill (or all) and decode, what its router's books hear of, in order.

    Choices without logged candidates are booked all the same; a query that only asks is not.
    """
    found: dict[str, list[RouterEvent]] = {}
    for request in recorded.run.requests:
        for decision in request.logged.decisions if request.logged and request.trace else ():
            if decision.stage != "peek":
                pool = "decode" if decision.stage == "decode" else "prefill"
                found.setdefault(pool, []).extend(_life(request, decision))
    return {pool: sorted(entries, key=itemgetter(0, 1)) for pool, entries in found.items()}


def _life(request: MeasuredRequest, decision: LoggedDecision) -> Iterator[RouterEvent]:
    chosen_s = request.at(decision.now_s)
    if chosen_s is None:
        return
    yield RouterEvent(chosen_s, EventKind.CHOICE, request, decision)
    ended = (request.at(decision.ended_s), request.end_s)
    end_s = next((time_s for time_s in ended if time_s is not None), None)
    first_s = request.first_token_s if request.answered_s is None else request.answered_s
    if decision.stage != "decode" and first_s is not None:
        yield RouterEvent(
            first_s if end_s is None else min(first_s, end_s), EventKind.FIRST_TOKEN, request, decision
        )
    if end_s is not None:
        yield RouterEvent(end_s, EventKind.END, request, decision)


def rebuild(
    entries: Sequence[RouterEvent], recorded: Recording, scenario: Scenario, overlaps: Overlaps
) -> list[Rebuilt]:
    """Return the logged choices of one pool in order, each with the terms of the books at that moment.

    Args:
        entries: what the pool's router heard of (`router_events`).
        recorded: the run.
        scenario: settings of the router and size of its blocks.
        overlaps: what each candidate held.

    """
    ranks = sorted({rank for entry in entries for rank in _ranks(entry.decision)})
    router, overrides = _router(entries[0].decision, scenario, len(ranks))
    prefixes = PrefixTable(recorded.trace.chunk_tokens, scenario.block_tokens)
    bookings: dict[int, Booking] = {}
    streaming: dict[int, Booking] = {}  # their chunks, each of which is progress, were not recorded
    found = []
    begin_s = entries[0].time_s
    for entry in entries:
        now_s, decision = entry.time_s - begin_s, entry.decision
        for going_on in streaming.values():
            going_on.progress_s = now_s
        if entry.moment is EventKind.CHOICE:
            held = overlaps(entry.request, decision)
            query = _query(entry, prefixes, overrides, [held.get(rank, 0.0) for rank in ranks])
            allowed = [ranks.index(rank) for rank in _ranks(decision)]
            terms = router.terms(query._replace(allowed=frozenset(allowed)), now_s)
            by_rank = {ranks[term.rank]: term for term in terms}
            bookings[id(decision)] = router.book(query, by_rank[entry.rank], now_s)
            if decision.stage == "decode":
                streaming[id(decision)] = bookings[id(decision)]
            if decision.candidates:
                found.append(Rebuilt(entry, by_rank))
        elif (booking := bookings.get(id(decision))) is not None:
            if entry.moment is EventKind.FIRST_TOKEN:
                router.first_token(booking, now_s)
                streaming[id(decision)] = booking
            else:
                router.free(booking, now_s)
                streaming.pop(id(decision), None)
    return found


def _ranks(decision: LoggedDecision) -> Iterable[Rank]:
    candidates = [(candidate.worker_id, candidate.dp_rank) for candidate in decision.candidates]
    return dict.fromkeys([*candidates, (decision.worker_id, decision.dp_rank)])


def _router(decision: LoggedDecision, scenario: Scenario, ranks: int) -> tuple[Router, Overrides]:
    """Return the router of a pool, and what every query of it carries."""
    if decision.stage == "aggregated":
        return Router(scenario.router, scenario.block_tokens, ranks), NO_OVERRIDES
    routing = (decode_stage if decision.stage == "decode" else prefill_stage)(scenario.router)
    router = Router(routing.config, scenario.block_tokens, ranks, worker_type=routing.worker_type)
    return router, routing.overrides


def _query(entry: RouterEvent, prefixes: PrefixTable, overrides: Overrides, held: Sequence[float]) -> Query:
    row = entry.request.trace
    assert row is not None
    return Query(
        entry.request.row,
        row.prompt_tokens,
        prefixes.add(row.chunks, row.prompt_tokens).blocks,
        overrides=overrides,
        # The log has one number for all tiers. Lower tiers, even empty ones, make the router round.
        overlap=Overlap(np.array(held), np.zeros(len(held)), 0),
    )
