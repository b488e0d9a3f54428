"""Which rules of a release a scenario can feel."""

import pytest

from sim.engine.rule_set import RuleSet
from sim.results.metrics import to_json
from sim.scenario.acting_rules import _CAN_ACT, acting_rules
from sim.scenario.load import load_scenario
from sim.simulation.run import run

PLAIN = ["workload.sessions=2", "workload.turns=3"]
STATES = ["queues", "chunk_stops", "retention", "retirement", "inner_checkpoint"]
TIER = ["tier_stores", "tier_progress", "tier_recency"]


def found(name: str, *overrides: str) -> list[str]:
    return acting_rules(load_scenario(name, overrides), "0.33")


def test_all_rules_are_known() -> None:
    assert set(_CAN_ACT) == set(RuleSet._fields)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("agg8", [*STATES, *TIER, "preemption"]),
        ("1p3d-no-offload", [*STATES, "preemption", "truncation"]),
        ("llama8b-agg2", []),
        ("llama8b-1p1d", ["queues", "preemption"]),
    ],
)
def test_rules_act_by_what_the_scenario_has(name: str, rules: list[str]) -> None:
    assert set(found(name)) == set(rules)


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        ("engine.long_prefill_token_threshold=512", "prefill_threshold"),
        ("engine.prefill_schedule_interval=4", "prefill_interval"),
        ("engine.scheduling_policy=priority", "preemption"),
    ],
)
def test_settings_make_rules_act(override: str, rule: str) -> None:
    assert rule not in found("llama8b-agg2")
    assert rule in found("llama8b-agg2", override)


def test_triton_saves_no_state_inside_and_dense_keeps_all() -> None:
    assert "inner_checkpoint" not in found("agg8", "engine.gdn_prefill_backend=triton")
    assert "retention" not in found("agg8", "engine.prefix_cache_retention_interval=dense")


def test_a_rule_that_the_scenario_holds_is_the_same_under_both() -> None:
    assert "retention" not in found("agg8", "engine.rules.retention=0.28")
    assert found("agg8", "engine.version=0.33") == []


@pytest.mark.parametrize("name", ["1p3d-no-offload", "llama8b-1p1d", "llama8b-agg2"])
def test_rules_that_cannot_act_change_nothing(name: str) -> None:
    acting = found(name)
    others = [f"engine.rules.{rule}=0.33" for rule in RuleSet._fields if rule not in acting]
    summaries = [run(name, [*PLAIN, *changes]).to_dict() for changes in ([], others)]
    for summary in summaries:
        del summary["versions"]
    assert to_json(summaries[0]) == to_json(summaries[1])
