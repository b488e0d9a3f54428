"""A log's costs computed again: what parts, in which term, and what was near."""

from pathlib import Path

import pytest

from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.replay.settings import scenario_of
from sim.validation.router_log.log_diff import Formula, LogDiff, diff_router_log
from sim.validation.router_log.mismatches import Difference, Nearest
from tests.measured.small_run import SMALL, WORKERS, copy

FIRST, SECOND = ((worker, 0) for worker in WORKERS)


def diff(folder: Path = SMALL, *overrides: str) -> LogDiff | None:
    run = load_run(folder)
    return diff_router_log(ValidationCase(run, scenario_of(run, "cpu-agg2", overrides)[0]))


def edited(folder: Path, old: str, new: str) -> Path:
    """Copy the small run with another text in its router's log."""
    text = (SMALL / "router.log").read_text()
    assert old in text
    return copy(folder, router_log=text.replace(old, new))


def test_costs_are_what_their_terms_come_to() -> None:
    assert diff().formula == Formula(lines=6, right=6)


@pytest.mark.parametrize(
    ("old", "new"),
    [(": 7.375 = ", ": 7.378 = "), ("1.000 * 1.500 + 4.000", "1.000 * 1.503 + 4.000")],
    ids=["the cost", "adjusted prefill"],
)
def test_a_line_that_does_not_add_up_is_counted(tmp_path: Path, old: str, new: str) -> None:
    assert diff(edited(tmp_path / "run", old, new)).formula == Formula(lines=6, right=5)


def test_partings_name_terms_values_and_what_was_near() -> None:
    logged, predicted = diff().books
    assert (logged.stage, logged.overlap, logged.choices, logged.equal, logged.cheapest) == (
        "aggregated",
        "logged",
        3,
        1,
        2,
    )
    assert logged.by_term == {"booked prefill tokens": 2, "decode blocks": 2}
    second, third = logged.mismatches
    assert (second.choice.request.row, third.choice.request.row) == (1, 2)
    assert second.differences == (
        # The log has request 0's prefill released 0.1 s before its first token was seen,
        Difference(FIRST, "booked prefill tokens", 0, 40, Nearest("first token", 0, pytest.approx(0.1))),
        # and a block more than the books; no end came before that could explain it.
        Difference(FIRST, "decode blocks", 4.0, 3, None),
    )
    assert third.differences == (
        Difference(FIRST, "booked prefill tokens", 32, 0, Nearest("first token", 0, pytest.approx(-0.852))),
        Difference(SECOND, "decode blocks", 4.0, 5, Nearest("end", 1, pytest.approx(1.947))),
    )
    assert predicted.overlap == "predicted"


def test_the_predicted_overlap_is_the_replays() -> None:
    predicted = diff().books[1]
    assert (predicted.equal, predicted.choices) == (1, 3)
    # Request 0 is computed at 0.2 s, so that at 0.1 s nothing of it can be cached, as logged it is.
    assert predicted.mismatches[0].differences[1] == Difference(
        FIRST, "cached blocks", 1.0, 0.0, Nearest("first token", 0, pytest.approx(0.1))
    )
    assert predicted.by_term == {"booked prefill tokens": 2, "cached blocks": 1, "decode blocks": 2}


def test_a_log_without_costs_has_nothing_to_compare(tmp_path: Path) -> None:
    lines = [line for line in (SMALL / "router.log").read_text().splitlines() if "Formula" not in line]
    assert diff(copy(tmp_path / "run", router_log="\n".join(lines))) is None
