"""`sim run`: simulate a scenario and print what came of it."""

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.commands.options import Overrides

if TYPE_CHECKING:
    from sim.run import RunResult
    from sim.scenario import Scenario


class Format(StrEnum):
    """How the summary is printed."""

    TEXT = "text"
    JSON = "json"


def run(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped scenario.")],
    overrides: Overrides = [],  # noqa: B006 - typer reads the default
    format: Annotated[Format, typer.Option(help="How to print the summary.")] = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(help="Folder to make: tables, summary and the resolved scenario.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Let --out replace the results of an earlier run.")] = False,
    repeat: Annotated[
        int, typer.Option(min=1, help="Seeds to run, from the scenario's own upwards; prints intervals.")
    ] = 1,
) -> None:
    """Simulate a scenario and print what came of it."""
    from sim.commands.folder import new_folder
    from sim.scenario import load_scenario

    chosen = load_scenario(scenario, overrides)
    seeds = range(chosen.seed, chosen.seed + repeat)
    with nullcontext() if out is None else new_folder(out, replace=force) as folder:
        if repeat == 1:
            result = _simulate(chosen, chosen.title)
            if folder is not None:
                result.save(folder)
            summary, notes = result.summary, result.notes
        else:
            summary, notes = _repeat(chosen, seeds, folder)
    _print(summary, chosen.title, notes, format)


def _simulate(scenario: "Scenario", label: str) -> "RunResult":
    from sim.progress import progress_bar
    from sim.run import run as simulate

    with progress_bar(label) as on_progress:
        return simulate(scenario, on_progress=on_progress)
