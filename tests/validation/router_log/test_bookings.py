"""The router's books of the small run, kept anew: costs worked out by hand."""

import pytest

from sim.measured.formats.router_log import StageName
from sim.measured.run import MeasuredRun, load_run
from sim.validation.replay.recording import recording
from sim.validation.replay.settings import scenario_of
from sim.validation.router_log.bookings import EventKind, rebuild, router_events
from tests.measured.small_run import SMALL, WORKERS


def small(stage: StageName = "aggregated") -> MeasuredRun:
    """Return the small run as if its choices had been made for this stage."""
    run = load_run(SMALL)
    for decision in run.decisions:
        decision.stage = stage
    return run


def costs(run: MeasuredRun, *overrides: str) -> list[tuple[float, float]]:
    """Return the costs of both workers at each choice, with the overlap as logged."""
    recorded = recording(run)
    (entries,) = router_events(recorded).values()
    rebuilt = rebuild(
        entries,
        recorded,
        scenario_of(run, "cpu-agg2", overrides)[0],
        lambda _, decision: {
            (found.worker_id, found.dp_rank): found.cached_blocks for found in decision.candidates
        },
    )
    first, second = ((worker, 0) for worker in WORKERS)
    return [(one.terms[first].cost, one.terms[second].cost) for one in rebuilt]


def test_books_hear_of_choices_first_tokens_and_ends_in_order_of_time() -> None:
    (entries,) = router_events(recording(small())).values()
    assert [(entry.moment, entry.request.row) for entry in entries] == [
        (EventKind.CHOICE, 0),
        (EventKind.CHOICE, 1),
        (EventKind.FIRST_TOKEN, 0),
        (EventKind.FIRST_TOKEN, 1),
        (EventKind.CHOICE, 2),
        (EventKind.FIRST_TOKEN, 2),
        (EventKind.END, 0),
        (EventKind.END, 1),
        (EventKind.END, 2),
    ]
    assert [entry.time_s for entry in entries[1:4]] == pytest.approx([0.1, 0.2, 0.4])


def test_an_aggregated_router_books_prefill_and_shared_blocks() -> None:
    assert costs(small()) == [
        (40 / 16 + 2, 40 / 16 + 2),
        # Request 0 has 40 tokens and two blocks there; request 1 shares the first of them, as is cached.
        (80 / 16 - 1 + 3, 40 / 16 + 2),
        # Both have their first tokens, so their blocks are left: two and four with it, two and five.
        (70 / 16 - 2 + 4, 70 / 16 - 1 + 5),
    ]


def test_settings_are_the_scenarios() -> None:
    assert costs(small(), "router.prefill_load_scale=4")[2] == (4 * (70 / 16 - 2) + 4, 4 * (70 / 16 - 1) + 5)


def test_a_prefill_router_books_no_blocks() -> None:
    assert costs(small("prefill")) == [(2.5, 2.5), (80 / 16 - 1, 2.5), (70 / 16 - 2, 70 / 16 - 1)]


def test_a_decode_router_books_blocks_that_nobody_shares() -> None:
    assert costs(small("decode")) == [(2, 2), (2 + 2, 2), (2 + 4, 2 + 4)]


def test_what_only_asks_is_not_booked() -> None:
    assert router_events(recording(small("peek"))) == {}


def test_a_worker_that_was_no_candidate_is_none_here() -> None:
    run = small()
    run.decisions[2].candidates = run.decisions[2].candidates[1:]
    recorded = recording(run)
    (entries,) = router_events(recorded).values()
    last = rebuild(entries, recorded, scenario_of(run, "cpu-agg2", ())[0], lambda *_: {})[-1]
    assert list(last.terms) == [(WORKERS[1], 0)]
