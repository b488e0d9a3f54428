"""A router's log against itself and against its requests: `sim validate --diff router-log`.

Costs are computed twice more. From the terms of each line: does the formula hold? And from books that are
kept anew (`sim.validation.router_log.bookings`): do the rules of booking hold? The latter with the overlap as
logged, so that the books alone are in question, and with the overlap that a replay predicts, with recorded
workers and times. The books go on with what the log says whatever they made of a choice, so that no error
breeds others.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.base.errors import InputError
from sim.measured.formats.router_log import LoggedDecision
from sim.measured.request import MeasuredRequest
from sim.measured.run import MeasuredRun
from sim.scenario.scenario import Scenario
from sim.validation.case import ValidationCase
from sim.validation.refused import Refused, refused
from sim.validation.replay.recording import Recording
from sim.validation.router_log.bookings import EventKind, Overlaps, Rank, RouterEvent, rebuild, router_events
from sim.validation.router_log.mismatches import Mismatch, Mismatches
from sim.validation.router_log.replayed_overlap import ReplayedOverlap

Source = Literal["logged", "predicted"]
"""Where the overlap is from."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Lines of candidates whose cost is what their own terms come to."""

    lines: int
    right: int


@dataclass(frozen=True, slots=True)
class Books:
    """Choices of one stage beside those of the books."""

    stage: str
    overlap: Source
    choices: int
    """With logged costs."""
    equal: int
    """Those of them where each candidate's cost is as logged."""
    cheapest: int
    """Those where the worker that was taken is the cheapest, or one of those."""
    mismatches: tuple[Mismatch, ...]
    """The others, in order of time."""

    @property
    def by_term(self) -> dict[str, int]:
        """How many mismatches each term has a part in."""
        terms = (
            term for mismatch in self.mismatches for term in {found.term for found in mismatch.differences}
        )
        return dict(sorted(Counter(terms).items()))


@dataclass(frozen=True, slots=True)
class LogDiff:
    """Both comparisons of one run."""

    formula: Formula
    books: tuple[Books, ...]
    refused: Refused
    """Requests without a predicted overlap."""
    notes: tuple[str, ...]


def diff_router_log(case: ValidationCase) -> LogDiff | None:
    """Compute the costs of a run's log again; None if the log has none.

    Raises:
        InputError: the run's prompts or times are not known, or disaggregation is conditional.

    """
    run, scenario = case.run, case.scenario
    if not any(decision.candidates for decision in run.decisions):
        return None
    if scenario.disaggregation.conditional:
        raise InputError("disaggregation.conditional: books of such a router cannot be kept anew")
    recorded, replayed = case.recording, case.replayed
    sources: dict[Source, Overlaps] = {"logged": _logged_overlap, "predicted": ReplayedOverlap(replayed)}
    pools = router_events(recorded)
    books = (
        _books(entries, recorded, scenario, source, sources[source])
        for entries in pools.values()
        for source in sources
    )
    lost = refused(recorded, replayed.requests)
    return LogDiff(_formula(run), tuple(books), lost, tuple(_notes(run, scenario, pools)))


def _logged_overlap(_: MeasuredRequest, decision: LoggedDecision) -> Mapping[Rank, float]:
    return {(found.worker_id, found.dp_rank): found.cached_blocks for found in decision.candidates}


def _formula(run: MeasuredRun) -> Formula:
    lines = [candidate for decision in run.decisions for candidate in decision.candidates]
    return Formula(len(lines), sum(candidate.adds_up for candidate in lines))


def _books(
    entries: Sequence[RouterEvent],
    recorded: Recording,
    scenario: Scenario,
    source: Source,
    overlaps: Overlaps,
) -> Books:
    rebuilt = rebuild(entries, recorded, scenario, overlaps)
    parted = Mismatches(entries, scenario.block_tokens).among(rebuilt)
    cheapest = (
        one.terms[one.choice.rank].cost <= min(terms.cost for terms in one.terms.values()) for one in rebuilt
    )
    stage = entries[0].decision.stage
    return Books(stage, source, len(rebuilt), len(rebuilt) - len(parted), sum(cheapest), tuple(parted))


def _notes(run: MeasuredRun, scenario: Scenario, pools: Mapping[str, Sequence[RouterEvent]]) -> Iterator[str]:
    booked = sum(entry.moment is EventKind.CHOICE for entries in pools.values() for entry in entries)
    asked = sum(decision.stage != "peek" for decision in run.decisions)
    if booked < asked:
        yield (
            f"{asked - booked} of {asked} choices are of requests that are not in the trace: they are not in "
            "the books"
        )
    if scenario.router.track_output_blocks:
        yield "blocks of generated tokens (router.track_output_blocks) are not in the books"
    if any(request.answered_s is None for request in run.requests if request.completed):
        yield (
            "without Dynamo's request trace the books learn of first tokens when the client had them, which "
            "is later than the router"
        )
