"""`sim scenarios`: what comes with the simulator."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sim.scenario import Scenario


def scenarios() -> None:
    """List the shipped scenarios."""
    from sim.scenario import load_scenario
    from sim.shipped import scenario_names

    names = scenario_names()
    width = max(map(len, names), default=0)
    for name in names:
        scenario = load_scenario(name)
        typer.echo(f"{name:{width}}  {scenario.title}")
        typer.echo(f"{'':{width}}  {_in_a_line(scenario)}")


def _in_a_line(scenario: "Scenario") -> str:
    workload = scenario.workload
    source = f"{workload.sessions or 'all'} sessions of {workload.profile or workload.path}"
    turns = f" x {workload.turns} turns" if workload.turns else ""
    return (
        f"{scenario.workers} x {scenario.gpu.name}, {scenario.model.name}; {source}{turns}, "
        f"{scenario.replay.client}; {scenario.router.policy} router"
    )
