"""Whose rules a run follows."""

from typing import Final

from sim.scenario.scenario import Scenario

ENGINE: Final = "vLLM 0.28"
"""The release whose scheduler, block pool and connectors `sim.engine` and `sim.kv` follow."""


def versions_of(scenario: Scenario) -> dict[str, str]:
    """Return the releases by what follows them, as the head of every result has them."""
    return {"router": f"Dynamo {scenario.router.version}", "engine": ENGINE}
