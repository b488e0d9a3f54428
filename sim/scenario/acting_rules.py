"""Which rules of a release can act in a scenario: those of features that it does not use change nothing."""

from collections.abc import Callable
from typing import Final

from sim.engine.rule_set import RULES, RuleSet, Version
from sim.hardware.gdn_kernel import saves_inside
from sim.scenario.scenario import Scenario


def _hybrid(scenario: Scenario) -> bool:
    return scenario.model.state_groups > 0


def _tier(scenario: Scenario) -> bool:
    return scenario.offload is not None


def _connected(scenario: Scenario) -> bool:
    return _tier(scenario) or bool(scenario.workers.decode)


def _by_priority(scenario: Scenario) -> bool:
    return scenario.engine.scheduling_policy == "priority"


def _saves_inside(scenario: Scenario) -> bool:
    return saves_inside(scenario.model, scenario.gpu, scenario.engine.gdn_prefill_backend)


_CAN_ACT: Final[dict[str, Callable[[Scenario], bool]]] = {
    # A hybrid model's request is passed over too, when its hit is registered in the same step.
    "queues": lambda scenario: _connected(scenario) or _hybrid(scenario) or _by_priority(scenario),
    "preemption": lambda scenario: _connected(scenario) or _by_priority(scenario),
    "prefill_threshold": lambda scenario: scenario.engine.long_prefill_token_threshold > 0,
    "prefill_interval": lambda scenario: scenario.engine.prefill_schedule_interval > 1,
    "registering": lambda scenario: scenario.engine.speculative is not None,
    "chunk_stops": _hybrid,
    "retention": lambda scenario: (
        (_hybrid(scenario) or scenario.model.windows is not None)
        and scenario.engine.prefix_cache_retention_interval != "dense"
    ),
    "retirement": _hybrid,
    "inner_checkpoint": _saves_inside,
    "truncation": lambda scenario: _hybrid(scenario) and bool(scenario.workers.decode),
    "tier_stores": lambda scenario: _tier(scenario) and _hybrid(scenario),
    "tier_progress": _tier,
    "tier_recency": _tier,
}


def acting_rules(scenario: Scenario, other: Version) -> list[str]:
    """Return the rules that differ between a scenario and another release, and can act in it.

    A rule that `engine.rules` holds is the same under both. One that is not known here counts as acting.
    """
    own, new, held = scenario.engine.rule_set, RULES[other], scenario.engine.rules
    return [
        rule
        for rule in RuleSet._fields
        if getattr(own, rule) != getattr(new, rule)
        and (held is None or getattr(held, rule) is None)
        and (rule not in _CAN_ACT or _CAN_ACT[rule](scenario))
    ]
