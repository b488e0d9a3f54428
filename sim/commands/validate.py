"""`sim validate`: what is predicted of measured runs, beside what was measured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Format, Overrides, ScenarioName


class Step(StrEnum):
    """How much of a run is recorded, how much predicted."""

    FORCED = "forced"
    FREE = "free"
    ALL = "all"


def validate(
    scenario: ScenarioName,
    *,
    measured: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR", help="A recorded run of that cluster: see sim measured inspect. Repeatable."
        ),
    ],
    step: Annotated[
        Step,
        typer.Option(help="Workers as recorded, or chosen by the router; times are recorded either way."),
    ] = Step.ALL,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of free routing.")] = 100,
    spread: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default="durations are drawn from those of the run",
            help="Free routing: each seed takes recorded durations times exp(spread x Z), Z standard normal.",
        ),
    ] = None,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    format: Annotated[Format, typer.Option(help="How to print the results.")] = Format.TEXT,
) -> None:
    """Print what the simulator predicts of measured runs, beside what was measured."""
    from sim.commands.console import console
    from sim.progress import count_bar
    from sim.results.metrics import to_json
    from sim.results.summary import WIDTH
    from sim.validation.show import render
    from sim.validation.validate import validate as validate_run

    free_seeds = 0 if step is Step.FORCED else seeds * len(measured)
    with count_bar("free routing", free_seeds) as on_seed:
        found = [
            validate_run(
                folder, scenario, overrides, step=step.value, seeds=seeds, spread=spread, on_seed=on_seed
            )
            for folder in measured
        ]
    if format is Format.JSON:
        typer.echo(to_json({"runs": found}), nl=False)
    else:
        console(WIDTH).print(render(found, scenario))
