"""`sim size`: the smallest clusters that keep a service level objective."""

from typing import Annotated

import typer

from sim.commands.options import Format, Jobs, Overrides, Resumed, ScenarioName
from sim.commands.run import UNFINISHED


def size(
    scenario: ScenarioName,
    *,
    slo: Annotated[
        list[str],
        typer.Option(
            "--slo",
            metavar="LIMIT",
            help='A number of every run to keep: "ttft_s.p95<3", "by_turn.later.ttft_s.p95<3", '
            '"by_tag.NAME.e2e_s.p50<20"; or a share of requests: "95% of by_turn.later.ttft_s<3". '
            "Repeatable.",
        ),
    ],
    sessions: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Sessions of the workload, in place of the scenario's; a file "
            "with fewer gives some once more, with content of their own.",
        ),
    ] = None,
    max_gpus: Annotated[
        int, typer.Option("--max-gpus", "--gpus", min=1, metavar="N", help="GPUs of the largest cluster.")
    ] = 16,
    tensor_parallel: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="GPUs of an engine, to choose from: 1,2,4. If absent: the scenario's."
        ),
    ] = None,
    host_ram: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Host RAM for each worker that computes prompts, to choose from: 0,32GiB,64GiB. "
            "If absent: none, and what the scenario has.",
        ),
    ] = None,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Seeds with each of which the limits must hold.")
    ] = 3,
    price_per_gpu_hour: Annotated[
        str | None,
        typer.Option(metavar="PRICE", help='What a GPU costs an hour: 2.5, "2.50 EUR", $2.5.'),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Search although no number of GPUs can keep a limit.")
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print what was found.")] = Format.TEXT,
    out: Resumed = None,
    jobs: Jobs = None,
) -> None:
    """Find how many GPUs, aggregated or split, and how much host RAM keep limits.

    First it says what no number of GPUs gets below: each request alone on an idle worker.
    """
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.runner import runner
    from sim.experiments.size import size as find_smallest
    from sim.results.metrics import to_json
    from sim.results.refusals import nothing_served
    from sim.runs.saved import write_sized
    from sim.show.pictures.sizing import write_frontier
    from sim.show.text.sizing import render_sized

    with runner(out, jobs, "sizing", None) as run:
        sized = find_smallest(
            scenario,
            slo,
            run,
            fixed=overrides,
            most_gpus=max_gpus,
            host_ram=host_ram,
            tensor_parallel=tensor_parallel,
            repeat=repeat,
            sessions=sessions,
            price=price_per_gpu_hour,
            anyway=anyway,
        )
        if out is not None:
            write_sized(sized, out)
            if sized.tried:
                write_frontier(sized, out)
    if format is Format.JSON:
        typer.echo(to_json(sized.to_dict()), nl=False)
    else:
        console(WIDTH).print(render_sized(sized))
    runs = [run for tried in sized.tried for run in tried.runs] or (sized.floor.warm if sized.floor else [])
    summaries = [run.summary for run in runs if run.summary is not None]
    if summaries and nothing_served(summaries):
        raise typer.Exit(UNFINISHED)
