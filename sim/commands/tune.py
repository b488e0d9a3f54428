"""`sim tune`: settings of a scenario that make a number best."""

from typing import Annotated

import typer

from sim.commands.options import Format, Jobs, Overrides, Resumed, ScenarioName
from sim.commands.run import UNFINISHED


def tune(
    scenario: ScenarioName,
    *,
    objective: Annotated[
        str,
        typer.Option(metavar="NAME", help="The number of the JSON summary to make low: ttft_s.p95."),
    ],
    maximise: Annotated[bool, typer.Option("--maximise", help="Make the number high instead.")] = False,
    constraints: Annotated[
        list[str],
        typer.Option("--constraint", metavar="LIMIT", help='A mean to keep: "itl_s.p99<0.2". Repeatable.'),
    ] = [],  # noqa: B006 - typer only reads it
    spaces: Annotated[
        list[str],
        typer.Option(
            "--space",
            metavar="KEY=LOW:HIGH",
            help="A key to search, LOW:HIGH, LOW:HIGH:STEP or LOW:HIGH:log; without any, four weights of "
            "the router. Repeatable.",
        ),
    ] = [],  # noqa: B006
    overrides: Overrides = [],  # noqa: B006
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Settings to try.")] = 40,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of each, the same for all.")] = 3,
    check: Annotated[
        int,
        typer.Option(
            min=3, metavar="N", help="Further seeds, on which the best is compared with the default."
        ),
    ] = 10,
    price_per_gpu_hour: Annotated[
        str | None,
        typer.Option(metavar="PRICE", help='What a GPU costs an hour: 2.5, "2.50 EUR", $2.5.'),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print what was found.")] = Format.TEXT,
    out: Resumed = None,
    jobs: Jobs = None,
) -> None:
    """Search settings that make a number best, and compare them with the default on other seeds."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.runner import runner
    from sim.experiments.tune import plan
    from sim.experiments.tune import tune as search_best
    from sim.results.metrics import to_json
    from sim.results.refusals import nothing_served
    from sim.runs.saved import write_tuned
    from sim.show.pictures.tuning import write_trials
    from sim.show.text.tuning import render_tuned

    search = plan(scenario, objective, constraints, spaces, overrides, maximise=maximise)
    with runner(out, jobs, "tuning", (1 + trials) * repeat + 2 * check) as run:
        tuned = search_best(search, run, trials=trials, repeat=repeat, check=check, price=price_per_gpu_hour)
        if out is not None:
            write_tuned(tuned, out)
            write_trials(tuned, out)
    if format is Format.JSON:
        typer.echo(to_json(tuned.to_dict()), nl=False)
    else:
        console(WIDTH).print(render_tuned(tuned))
    if nothing_served(tuned.check.summaries):
        raise typer.Exit(UNFINISHED)
