"""The router's queue against recordings of the real one: each release with its own rule and the other's."""

import json
from pathlib import Path

import pytest

from sim.router.queue.arbiter import BYPASSES, TAKES_PART, CursorRule
from tests.vectors.router_queue import RecordedQueue, replay_queue
from tests.vectors.router_tally import Row, Tally

VECTORS = Path(__file__).resolve().parents[2] / ".." / "shared" / "vectors"
pytestmark = pytest.mark.skipif(
    not (VECTORS / "router16").is_dir(), reason="../shared/vectors/router16 is not there"
)


def rows_of(name: str) -> list[Row]:
    folder = VECTORS / ("router16" if "-" in name else "router")
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "name", ["q01", "q02", "q03", "q05", "q15-06", "q16-02", "q16-06", "q16-07", "q16-21"]
)
def test_every_step_agrees(name: str) -> None:
    rows, tally = rows_of(name), Tally()
    replay_queue([(f"{name}:{number}", row) for number, row in enumerate(rows)], tally)
    assert not tally.problems
    assert list(tally.lines())[-1] == f"{len(rows) - 1} of {len(rows) - 1} decisions agree"


@pytest.mark.parametrize(
    ("name", "rule", "steps"),
    [("q15-06", TAKES_PART, 20), ("q16-06", BYPASSES, 20), ("q16-21", BYPASSES, 133)],
)
def test_the_rule_of_the_other_release_breaks_off(name: str, rule: CursorRule, steps: int) -> None:
    """After so many steps, as the facts have it."""
    scenario, *rows = rows_of(name)
    queue = RecordedQueue(scenario, rule)
    agree = [not list(queue.step(row)) for row in rows[: steps + 1]]
    assert agree == [True] * steps + [False]


def test_a_changed_recording_is_noticed() -> None:
    scenario, first, *_ = rows_of("q01")
    for field, value in {"released": [], "refused": ["scheduler", "no"], "state": {}}.items():
        problem = next(RecordedQueue(scenario).step(first | {field: value}))
        assert problem.startswith(f"{field}: recorded")
    unknown = {"op": "free", "request_id": "nobody", "released": [], "state": first["state"]}
    assert list(RecordedQueue(scenario).step(unknown)) == ["request nobody is admitted, ours is not"]
