"""Where a rebuilt choice parts from the logged one: in which term, on which worker, and how near to what.

Lines of a log are written a moment after the books were changed, and by several threads: choices that part
within milliseconds of another request's first token or end tell little; one far from any is an error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.measured.formats.formula import Candidate, as_logged
from sim.router import CostTerms
from sim.validation.router_log.bookings import EventKind, Rank, Rebuilt, RouterEvent

Term = Literal[
    "prefill load scale",
    "booked prefill tokens",
    "cached blocks",
    "overlap credit blocks",
    "decode blocks",
    "active request cost",
    "cost",
]

_RELEASED: dict[Term, EventKind] = {
    "booked prefill tokens": EventKind.FIRST_TOKEN,
    "decode blocks": EventKind.END,
    "active request cost": EventKind.END,
}
"""When books let go of what a term counts."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Another request's first token or end on the same worker that may explain a difference: the nearest.

    Of load that only the books still have it is seen after the choice, of load that they have not before it.
    """

    moment: Literal["first token", "end"]
    row: int
    """Place of that request in the client's input, from 0."""
    after_s: float
    """From the choice to it; negative: it was before."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A term of one candidate that is not as logged."""

    rank: Rank
    term: Term
    logged: float
    rebuilt: float
    nearest: Nearest | None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A choice with a candidate whose cost is not as logged."""

    choice: RouterEvent
    differences: tuple[Difference, ...]
    """Of every candidate whose cost differs, in the order of the log."""


class Mismatches:
    """Finds the mismatches of one pool."""

    def __init__(self, entries: Sequence[RouterEvent], block_tokens: int) -> None:
        """Take what the pool's router heard of, in order, and the size of its blocks."""
        self._block_tokens = block_tokens
        self._entries: dict[tuple[Rank, EventKind], list[RouterEvent]] = {}
        for entry in entries:
            self._entries.setdefault((entry.rank, entry.moment), []).append(entry)

    def among(self, rebuilt: Sequence[Rebuilt]) -> list[Mismatch]:
        """Return the choices that part, in their order."""
        found = ((one.choice, tuple(self._differences(one))) for one in rebuilt)
        return [Mismatch(choice, differences) for choice, differences in found if differences]

    def _differences(self, one: Rebuilt) -> Iterator[Difference]:
        for candidate in one.choice.decision.candidates:
            rank = candidate.worker_id, candidate.dp_rank
            terms = one.terms[rank]
            if not as_logged(candidate.cost, terms.cost):
                for term, logged, ours in _differing(candidate, terms, self._block_tokens):
                    nearest = self._nearest(term, rank, one.choice, later=ours > logged)
                    yield Difference(rank, term, logged, ours, nearest)

    def _nearest(self, term: Term, rank: Rank, choice: RouterEvent, *, later: bool) -> Nearest | None:
        released = _RELEASED.get(term)
        near = [
            Nearest(
                "end" if moment is EventKind.END else "first token",
                entry.request.row,
                entry.time_s - choice.time_s,
            )
            for moment in ((EventKind.FIRST_TOKEN, EventKind.END) if released is None else (released,))
            for entry in self._entries.get((rank, moment), [])
            if entry.request is not choice.request
            and (released is None or (entry.time_s > choice.time_s) == later)
        ]
        return min(near, key=lambda found: abs(found.after_s), default=None)


def _differing(
    candidate: Candidate, terms: CostTerms, block_tokens: int
) -> Iterator[tuple[Term, float, float]]:
    """Yield the terms that are not as logged, with both values; the cost itself if all of them are."""
    raw, credit = candidate.raw_prefill_blocks, candidate.overlap_credit_blocks
    same_overlap = as_logged(candidate.cached_blocks, terms.device_blocks, 10.0)  # 2 decimals
    booked = terms.active_prefill_tokens
    logged_booked = None if raw is None else booked + round((raw - terms.raw_prefill_blocks) * block_tokens)
    pairs: list[tuple[Term, float | None, float]] = [
        ("prefill load scale", candidate.prefill_load_scale, terms.prefill_load_scale),
        ("booked prefill tokens", logged_booked, booked),
        ("cached blocks", None if same_overlap else candidate.cached_blocks, terms.device_blocks),
        ("overlap credit blocks", credit if same_overlap else None, terms.overlap_credit_blocks),
        ("decode blocks", candidate.decode_blocks, terms.decode_blocks),
        ("active request cost", candidate.active_request_cost_blocks, terms.active_request_cost_blocks),
    ]
    found = [
        (term, logged, ours)
        for term, logged, ours in pairs
        if logged is not None and not as_logged(logged, ours)
    ]
    yield from found or [("cost", candidate.cost, terms.cost)]
