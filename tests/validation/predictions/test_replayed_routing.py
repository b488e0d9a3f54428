"""Forced routing of the small run: exact, for a pool that holds everything and for one that does not."""

import json
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.predictions.blocks import HeldBlocks
from sim.validation.predictions.choices import Choices
from sim.validation.predictions.replayed_routing import Miss, replayed_routing
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL, copy


def validate(folder: Path, *overrides: str):
    run = load_run(folder)
    return replayed_routing(ValidationCase(run, scenario_of(run, "cpu-agg2", overrides)[0]))


def test_a_pool_that_holds_everything_computes_what_was_measured() -> None:
    found = validate(SMALL)
    assert found.measured["computed_tokens"] == 134
    assert found.predicted["computed_tokens"] == found.baseline["computed_tokens"] == 134
    assert found.predicted["recomputed_tokens"] == found.baseline["recomputed_tokens"] == 32
    assert found.predicted["local_hit_tokens"] == 16
    assert found.predicted["host_hit_tokens"] == 0
    assert found.predicted["router_tokens"] == found.measured["router_tokens"] == 16
    assert found.predicted["workers_per_session"] == found.measured["workers_per_session"] == 1.5
    assert found.predicted["decode_hit_tokens"] is None
    agreement = found.agreement
    assert (agreement.compared, agreement.right, agreement.baseline_right) == (3, 3, 3)
    assert agreement.misses == ()


def test_logged_choices_are_compared_with_the_costs_of_the_replay() -> None:
    # Of the small log's costs only those of the first choice, on an idle cluster, are a router's.
    assert validate(SMALL).choices == {"aggregated": Choices(logged=3, equal_costs=1, cheapest=2)}


def test_blocks_held_are_counted_at_the_end_of_each_answer() -> None:
    # Events of worker 0 come 0.5 s after the start: its two blocks are not there at the first two ends.
    assert validate(SMALL).held_blocks == (HeldBlocks("worker0", 2, 2, 2, 2, pytest.approx(1 / 3), 0),)


def test_misses_are_named_the_farthest_off_first(tmp_path: Path) -> None:
    usage = [json.loads(line) for line in (SMALL / "usage.jsonl").read_text().splitlines()]
    usage[0]["usage"]["prompt_tokens_details"]["cached_tokens"] = 16
    usage[2]["usage"]["prompt_tokens_details"]["cached_tokens"] = 64
    text = "".join(json.dumps(row) + "\n" for row in usage)
    found = validate(copy(tmp_path / "run", usage_jsonl=text))
    assert (found.agreement.compared, found.agreement.right) == (3, 1)
    assert found.agreement.misses == (
        Miss(2, "a", "worker1", pytest.approx(1.048), 70, 64, 16),
        Miss(0, "a", "worker0", 0.0, 40, 16, 0),
    )


def test_a_scenario_of_fewer_workers_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"workers.count = 1: run small has 2 such engines \(worker0, worker1\)"
    ):
        validate(SMALL, "workers.count=1")
