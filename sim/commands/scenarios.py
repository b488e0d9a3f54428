"""`sim scenarios`: what comes with the simulator."""

from textwrap import wrap
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario

_ENDLESS = 10_000
"""Cells of a line in a pipe."""


def scenarios() -> None:
    """List the shipped scenarios."""
    from sim.base.shipped import scenario_names
    from sim.commands.console import console
    from sim.scenario.load import load_scenario

    names = scenario_names()
    width = max(map(len, names), default=0)
    room = console(_ENDLESS).width - width - 2
    for name in names:
        scenario = load_scenario(name)
        lines = [*wrap(scenario.title, room), *wrap(_in_a_line(scenario), room, break_on_hyphens=False)]
        for place, line in enumerate(lines):
            typer.echo(f"{'' if place else name:{width}}  {line}")


def _in_a_line(scenario: "Scenario") -> str:
    from sim.base.words import exactly

    workload = scenario.workload
    origin = workload.profile or ", ".join(path.name for path in workload.paths)
    which = exactly(workload.sessions, "session") if workload.sessions else "all sessions"
    sessions = f"{which} of {origin}"
    if workload.synthetic is not None:
        sessions = f"generated as {workload.synthetic.kind}"
    turns = f" x {exactly(workload.turns, 'turn')}" if workload.turns else ""
    return (
        f"{scenario.workers} x {scenario.gpu.name}, {scenario.model.name}; {sessions}{turns}, "
        f"{scenario.replay.client}; {scenario.router.policy} router"
    )
