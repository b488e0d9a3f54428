"""Further runs that tell what moved numbers from one release to another."""

import pytest

from sim.base.errors import InputError
from sim.experiments.compare import compare, plan
from sim.experiments.rule_runs import said
from sim.runs.rule_effects import pairs
from sim.simulation.run import run

SMALL = ["workload.sessions=2", "workload.turns=3", "workers.count=1"]
VERSIONS = "engine.version=0.28,0.33"
TWO_RULES = [*SMALL, *(f"engine.rules.{rule}=0.28" for rule in ("queues", "preemption", "chunk_stops"))]
TWO_RULES += [f"engine.rules.{rule}=0.28" for rule in ("tier_stores", "tier_progress", "tier_recency")]


def wanted(*overrides: str, name: str = "agg8", repeat: int | None = None) -> list[tuple[str, bool]]:
    """The rules that are switched, and whether that takes a run."""
    made = plan([name], [*SMALL, *overrides], repeat, explain_versions=True)
    return [(rule.switched, rule.job is not None) for rule in made.rules]


def test_every_rule_that_can_act_is_switched_on_and_off() -> None:
    found = wanted(VERSIONS, "offload=none")
    rules = ["queues", "chunk_stops", "retention", "retirement", "inner_checkpoint"]

    assert found == [(f"{rule}={version}", True) for version in ("0.33", "0.28") for rule in rules]


def test_of_one_rule_the_runs_are_there_and_of_two_half_of_them() -> None:
    plain = ["model=llama-3.1-8b-bf16", "offload=none", VERSIONS, "engine.long_prefill_token_threshold=512"]
    assert wanted(*plain) == [("prefill_threshold=0.33", False), ("prefill_threshold=0.28", False)]
    both = wanted(*plain, "engine.prefill_schedule_interval=4")
    assert both == [
        ("prefill_threshold=0.33", True),
        ("prefill_interval=0.33", True),
        ("prefill_threshold=0.28", False),
        ("prefill_interval=0.28", False),
    ]


def test_without_releases_it_is_the_scenarios_own_and_each_other() -> None:
    made = plan(["agg8"], [*SMALL, "engine.version=0.33"], explain_versions=True)

    assert [job.scenario.engine.version for job in made.jobs] == ["0.33", "0.28"]
    assert made.rules[0].switched == "queues=0.28"
    assert wanted() == wanted(VERSIONS)


def test_how_many_runs_there_are_is_said() -> None:
    made = plan(["agg8"], [*SMALL, VERSIONS, "router.temperature=0,1"], 3, explain_versions=True)

    # Two releases, two points, three seeds; nine rules, both ways.
    assert made.n_runs == 12 + 108
    assert said(made.jobs, made.rules).startswith(
        "120 runs: 12 as they are, 108 with one rule switched; 9 rules can act: queues, preemption,"
    )


def test_that_no_rule_can_act_is_said() -> None:
    made = plan(["llama8b-agg2"], explain_versions=True)

    assert made.rules == []
    assert said(made.jobs, made.rules).startswith("2 runs; no rule that differs")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 3}, "--explain-versions, --draws"),
        ({"overrides": ["engine.rules.retention=0.28,0.33"]}, "it switches rules itself"),
        ({"overrides": ["engine.version=0.28,0.29"]}, "must be '0.28' or '0.33'"),
    ],
)
def test_what_cannot_be_explained_is_refused_before_any_run(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(["agg8"], **{"overrides": [], **options}, explain_versions=True)


def test_what_ran_already_is_refused() -> None:
    with pytest.raises(InputError, match="ran already"):
        plan(["agg8", run("llama8b-agg2", ["workload.sessions=1"])], explain_versions=True)


def test_effects_are_differences_of_runs_with_rules_switched() -> None:
    found = compare(
        "agg8",
        overrides=[*TWO_RULES, VERSIONS, "engine.rules.retirement=0.28"],
        jobs=1,
        explain_versions=True,
    )
    both = [*TWO_RULES, "engine.rules.retirement=0.28"]
    metric = "prefill.computed_tokens"

    def tokens(*overrides: str) -> float:
        value = run("agg8", [*both, *overrides]).numbers[metric]
        assert value is not None
        return value

    (pair,) = pairs(found)
    moved = pair.move(metric)
    before, after = tokens(), tokens("engine.version=0.33")
    retention = tokens("engine.rules.retention=0.33")
    inside = tokens("engine.rules.inner_checkpoint=0.33")
    assert len(found.runs) == 2
    assert [*moved.rules] == ["retention", "inner_checkpoint"]
    assert (moved.before, moved.after) == (before, after)
    assert moved.rules["retention"].alone.value == retention - before
    assert moved.rules["retention"].last.value == after - inside
    assert moved.together.value == 0.0
