"""`sim validate`: what is predicted of measured runs, beside what was measured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Format, Overrides, ScenarioName
from sim.errors import InputError


class Step(StrEnum):
    """How much of a run is recorded, how much predicted."""

    FORCED = "forced"
    FREE = "free"
    ALL = "all"


MeasuredFolders = Annotated[
    list[Path],
    typer.Option(metavar="DIR", help="A recorded run of that cluster: see sim measured inspect. Repeatable."),
]


def validate(
    scenario: ScenarioName,
    *,
    measured: MeasuredFolders = [],  # noqa: B006 - typer only reads it
    requests: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Runs of one engine, a row a request: run, arrival_s, send_s, input_tokens, output_tokens, "
            "ttft_ms, e2e_ms; plain or gzipped. Predicts every run's latencies.",
        ),
    ] = None,
    step: Annotated[
        Step,
        typer.Option(help="Workers as recorded, or chosen by the router; times are recorded either way."),
    ] = Step.ALL,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of free routing.")] = 100,
    spread: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Free routing: each seed takes recorded durations times exp(spread x Z), Z standard normal.",
        ),
    ] = 0.0,
    baselines: Annotated[
        bool, typer.Option(help="With --requests: other step times beside the scenario's.")
    ] = True,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    format: Annotated[Format, typer.Option(help="How to print the results.")] = Format.TEXT,
) -> None:
    """Print what the simulator predicts of measured runs, beside what was measured.

    Of a cluster's runs (--measured) caching and routing are predicted, of an engine's requests (--requests)
    latencies.
    """
    if bool(measured) == (requests is not None):
        raise InputError("give either --measured DIR or --requests CSV")
    if requests is not None:
        _requests(scenario, requests, overrides, format, baselines=baselines)
    else:
        _measured(scenario, measured, overrides, format, step=step, seeds=seeds, spread=spread)


def _measured(
    scenario: str,
    folders: list[Path],
    overrides: list[str],
    format: Format,
    *,
    step: Step,
    seeds: int,
    spread: float,
) -> None:
    from sim.commands.console import console
    from sim.progress import count_bar
    from sim.results.metrics import to_json
    from sim.results.summary import WIDTH
    from sim.validation.show import render
    from sim.validation.validate import validate as validate_run

    free_seeds = 0 if step is Step.FORCED else seeds * len(folders)
    with count_bar("free routing", free_seeds) as on_seed:
        found = [
            validate_run(
                folder, scenario, overrides, step=step.value, seeds=seeds, spread=spread, on_seed=on_seed
            )
            for folder in folders
        ]
    if format is Format.JSON:
        typer.echo(to_json({"runs": found}), nl=False)
    else:
        console(WIDTH).print(render(found, scenario))


def _requests(scenario: str, path: Path, overrides: list[str], format: Format, *, baselines: bool) -> None:
    from sim.commands.console import console
    from sim.measured.requests_csv import read_requests
    from sim.progress import count_bar
    from sim.results.metrics import to_json
    from sim.results.summary import WIDTH
    from sim.scenario import load_scenario
    from sim.validation.requests.show import render
    from sim.validation.requests.validate import n_predictions, validate_requests

    settings, file = load_scenario(scenario, overrides), read_requests(path)
    with count_bar("requests", n_predictions(file, settings, baselines=baselines)) as on_run:
        result = validate_requests(file, settings, baselines=baselines, on_run=on_run)
    if format is Format.JSON:
        typer.echo(to_json(result), nl=False)
    else:
        console(WIDTH).print(render(result, scenario))
