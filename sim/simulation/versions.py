"""Whose rules a run follows."""

from sim.engine.settings import EngineSettings
from sim.scenario.scenario import Scenario


def versions_of(scenario: Scenario) -> dict[str, str]:
    """Return the releases by what follows them, as the head of every result has them."""
    return {"router": f"Dynamo {scenario.router.version}", "engine": _engine(scenario.engine)}


def _engine(engine: EngineSettings) -> str:
    """Return the release of an engine, with the rules that are of another one."""
    others: dict[str, list[str]] = {}
    for rule, version in engine.rule_set._asdict().items():
        if version != engine.version:
            others.setdefault(version, []).append(rule)
    but = [f"{', '.join(rules)} of {version}" for version, rules in others.items()]
    return f"vLLM {engine.version}" + (f" (but {'; '.join(but)})" if but else "")
