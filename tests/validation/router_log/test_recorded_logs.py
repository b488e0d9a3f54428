"""Router logs of a real small cluster, if they are beside the repository: all costs computed again."""

from pathlib import Path

import pytest

from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.replay.settings import scenario_of
from sim.validation.router_log.log_diff import Books, Formula, diff_router_log

RUNS = Path(__file__).resolve().parents[4] / "shared" / "measured"

EQUAL = {
    ("cpu-agg4", "cpu-agg4-default"): [116],
    ("cpu-agg4", "cpu-agg4r-ow0"): [120],
    ("cpu-agg4", "mocker-agg4-default-jsonl-mc4"): [120],
    ("cpu-gdn2", "cpu-gdn2-default"): [118],
    ("cpu-off2", "off2-sd-default"): [118],
    ("cpu-2p2d", "pd-2p2d-pls4"): [120, 120],
}
"""Choices of each stage, of 120, whose costs come out as logged: those that part do so within milliseconds of
a first token or end, or where a client read all tokens at once, late."""

pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason=f"no recorded runs at {RUNS}")


@pytest.mark.parametrize(("name", "run"), EQUAL)
def test_costs_come_out_as_logged(name: str, run: str) -> None:
    recorded = load_run(RUNS / run)
    found = diff_router_log(ValidationCase(recorded, scenario_of(recorded, name, ())[0]))
    assert found is not None
    lines = sum(len(decision.candidates) for decision in recorded.decisions)
    assert found.formula == Formula(lines, lines)
    books = [one for one in found.books if one.overlap == "logged"]
    assert [one.choices for one in books] == [120] * len(books)
    assert [one.equal for one in books] == EQUAL[name, run]
    assert all(_near(one) for one in books)


def _near(books: Books) -> bool:
    """Whether all that parts has something that may explain it."""
    return all(found.nearest for mismatch in books.mismatches for found in mismatch.differences)
