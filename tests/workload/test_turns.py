"""Rows of sessions put in the order of their timestamps."""

from array import array

import pytest

from sim.workload.findings import Findings
from sim.workload.formats.row import Row
from sim.workload.rows import Rows
from sim.workload.turns import in_order

Spec = tuple[str, float | None, float | None]


def in_file(*specs: Spec) -> Rows:
    """Build rows from (session, timestamp, delay), in milliseconds."""
    rows = Rows()
    for line, (session, timestamp, delay) in enumerate(specs, start=1):
        rows.append(Row(line, session, None, timestamp, delay, 16, 1, array("Q", [1])))
    return rows


@pytest.mark.parametrize(
    ("specs", "order"),
    [
        ((("a", 5, None), ("b", 5, None), ("c", 0, None)), ["c0", "a0", "b0"]),
        ((("a", 0, None), ("a", None, 3000), ("b", 2000, None), ("c", 4000, None)), ["a0", "b0", "a1", "c0"]),
        ((("a", 0, None), ("a", None, None), ("b", 0, None)), ["a0", "a1", "b0"]),
        ((("a", 0, None), ("a", None, 5000), ("a", 2000, None), ("b", 3000, None)), ["a0", "b0", "a1", "a2"]),
    ],
    ids=["stably", "without timestamp, its delay after", "without either, at once", "turns keep their order"],
)
def test_order(specs: tuple[Spec, ...], order: list[str]) -> None:
    requests = in_order(in_file(*specs), len(specs), 1000.0, Findings())
    assert [f"{request.session}{request.turn}" for request in requests] == order
    assert [request.index for request in requests] == list(range(len(specs)))


def test_a_delay_is_a_think_time_between_turns_so_a_first_turn_has_none() -> None:
    rows = in_file(("a", 2000, 500), ("a", None, 500))
    first, second = in_order(rows, 1, 1000.0, Findings())
    assert (first.timestamp_s, first.delay_s) == (0.0, None)
    assert (second.timestamp_s, second.delay_s) == (None, 0.5)
