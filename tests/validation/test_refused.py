"""Requests that were measured and that the replay refuses: named, and in no comparison.

A pool of four blocks holds the small run's prompts of 40 tokens, not that of 70 (row 2), whose worker holds
nothing else. The other two have nothing in common but 16 tokens, on different workers.
"""

import json

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.predictions.full_simulation import full_simulation
from sim.validation.predictions.replayed_routing import Forced, replayed_routing
from sim.validation.predictions.simulated_routing import simulated_routing
from sim.validation.refused import Refused
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL

ONE = Refused(3, (2,), {"prompt_exceeds_pool": 1})


def small() -> Forced:
    run = load_run(SMALL)
    return replayed_routing(ValidationCase(run, scenario_of(run, "cpu-agg2", ["engine.kv_blocks=4"])[0]))


def test_both_sides_are_of_what_was_served() -> None:
    found = small()
    assert found.refused == ONE
    # Two prompts of 40 tokens, of which the second needed 24.
    assert (found.predicted["computed_tokens"], found.predicted["recomputed_tokens"]) == (80, 16)
    assert (found.baseline["computed_tokens"], found.baseline["recomputed_tokens"]) == (80, 16)


def test_a_refused_request_is_a_miss_without_a_number() -> None:
    agreement = small().agreement
    assert (agreement.compared, agreement.right) == (3, 2)
    assert [(miss.row, miss.measured_tokens, miss.predicted_tokens) for miss in agreement.misses] == [
        (2, 16, None)
    ]


def test_free_and_timed_compare_nothing_either() -> None:
    run = load_run(SMALL)
    scenario = scenario_of(run, "cpu-agg2", ["engine.kv_blocks=4", "engine.max_model_len=none"])[0]
    case = ValidationCase(run, scenario)
    for found in (simulated_routing(case, 1), full_simulation(case, 1)):
        assert found.refused == ONE
        assert {one.inside for one in found.predictions.values()} == {None}
        assert found.predictions["recomputed_tokens"].mean >= 0


@pytest.mark.parametrize("step", ["forced", "free", "timed"])
def test_they_are_named_before_the_numbers(step: str) -> None:
    arguments = ["validate", "cpu-agg2", "--measured", str(SMALL), "--step", step, "--seeds", "1"]
    arguments += ["--set", "engine.kv_blocks=4", "--set", "engine.max_model_len=none"]
    text = " ".join(CliRunner().invoke(app, arguments, terminal_width=100).stdout.split())
    assert (
        "Refused: 1 of 3 requests that the measured cluster served is refused here (prompt_exceeds_pool 1; "
        "row 2): predictions are of the others, so they are not compared"
    ) in text
    (run,) = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)["runs"]
    assert run[step]["refused"] == {
        "requests": 1,
        "of": 3,
        "rows": [2],
        "by_reason": {"prompt_exceeds_pool": 1},
    }
    numbers = run[step].get("numbers") or run[step]["predictions"]
    assert {one["error"] for one in numbers.values()} == {None}


def test_a_run_that_serves_all_refuses_none() -> None:
    run = load_run(SMALL)
    assert not replayed_routing(ValidationCase(run, scenario_of(run, "cpu-agg2", [])[0])).refused


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (
            "replay.warm_start=first-contexts",
            "replay.warm_start: a recorded run was sent as it was; leave it out "
            "(--set replay.warm_start=none)",
        ),
        ("replay.timeout_s=0.01", "replay.timeout_s: nothing breaks in a replay at recorded times"),
        ('faults=[{kind="worker-dies",worker=0,at_s=1}]', "leave it out (--set faults=none)"),
    ],
)
@pytest.mark.parametrize("step", ["forced", "free"])
def test_nothing_breaks_in_a_replay_at_recorded_times(step: str, override: str, says: str) -> None:
    arguments = ["validate", "cpu-agg2", "--measured", str(SMALL), "--step", step, "--set", override]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_clients_that_give_up_at_simulated_times_are_named_as_that() -> None:
    run = load_run(SMALL)
    found = full_simulation(
        ValidationCase(run, scenario_of(run, "cpu-agg2", ["replay.timeout_s=0.000001"])[0]), 1
    )
    assert found.refused.by_reason == {"client_timeout": 3}
