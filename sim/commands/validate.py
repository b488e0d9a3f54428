"""`sim validate`: what is predicted of measured runs, beside what was measured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sim.base.errors import InputError
from sim.commands.options import Format, Overrides, ScenarioName
from sim.commands.validate_requests import keep, validate_requests


class Step(StrEnum):
    """How much of a run is recorded, how much predicted."""

    FORCED = "forced"
    FREE = "free"
    TIMED = "timed"
    ALL = "all"


class Diff(StrEnum):
    """What is computed again, line by line."""

    ROUTER_LOG = "router-log"


def validate(
    scenario: ScenarioName,
    *,
    measured: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR", help="A recorded run of that cluster: see sim measured inspect. Repeatable."
        ),
    ] = [],  # noqa: B006 - typer only reads it
    requests: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="In place of --measured: runs of one engine, a row a request, columns run, arrival_s, "
            "send_s, input_tokens, output_tokens, ttft_ms, e2e_ms; plain or gzipped. Predicts latencies.",
        ),
    ] = None,
    baselines: Annotated[
        bool, typer.Option(help="With --requests: other step times beside the scenario's.")
    ] = True,
    step: Annotated[
        Step | None,
        typer.Option(
            help="Workers as recorded (forced) or chosen by the router (free), both with recorded times: "
            "all, unless --diff is asked for. Or everything simulated (timed).",
        ),
    ] = None,
    diff: Annotated[
        Diff | None,
        typer.Option(help="Compute the costs of the router's log again, and say where they first part."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of free and timed.")] = 100,
    spread: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default="durations are drawn from those of the run",
            help="Free routing: each seed takes recorded durations times exp(spread x Z), Z standard normal.",
        ),
    ] = None,
    fit: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR", help="timed: fit the step times to this run's latencies first. Repeatable."
        ),
    ] = [],  # noqa: B006
    allow_differences: Annotated[
        bool,
        typer.Option(
            "--allow-differences",
            help="Compare engines of other blocks or another kind of model than the recorded ones.",
        ),
    ] = False,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    format: Annotated[Format, typer.Option(help="How to print the results.")] = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to make: all numbers, a picture of the errors.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace earlier results.")] = False,
) -> None:
    """Print what the simulator predicts of measured runs, beside what was measured."""
    if bool(measured) == (requests is not None):
        raise InputError("give either --measured DIR or --requests CSV")
    if requests is not None:
        given: dict[str, object] = {"--step": step, "--diff": diff, "--spread": spread, "--fit": fit}
        given["--allow-differences"] = allow_differences or None
        for option, value in given.items():
            if value not in (None, []):
                raise InputError(f"{option}: goes with --measured, not with --requests")
        validate_requests(scenario, requests, overrides, format, out, baselines=baselines, force=force)
        return
    from sim.base.progress import count_bar
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import out_folder
    from sim.results.metrics import to_json
    from sim.validation.pictures import plots_of_runs
    from sim.validation.show import render
    from sim.validation.validate import Wanted
    from sim.validation.validate import validate as validate_runs

    step = step or (None if diff else Step.ALL)
    total = seeds * len(measured) if step not in (None, Step.FORCED) else 0
    with out_folder(out, force=force) as kept, count_bar("simulating", total) as on_seed:
        wanted = Wanted(
            step.value if step else None,
            diff=diff is Diff.ROUTER_LOG,
            seeds=seeds,
            spread=spread,
            fit_to=fit,
            allow_differences=allow_differences,
            on_seed=on_seed,
        )
        found = validate_runs(measured, scenario, overrides, wanted)
        keep(kept, {"runs": found}, lambda: plots_of_runs(found, scenario))
    with kept.shown(""):
        if format is Format.JSON:
            typer.echo(to_json({"runs": found}), nl=False)
        else:
            console(WIDTH).print(render(found, scenario))
