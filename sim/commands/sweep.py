"""`sim sweep`: a scenario at many points."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sim.base.errors import InputError
from sim.commands.options import Format, Jobs, Resumed, ScenarioName
from sim.commands.run import UNFINISHED

if TYPE_CHECKING:
    from sim.experiments.jobs.engine import Engine
    from sim.experiments.sweep import Plan
    from sim.runs.run import Run
    from sim.runs.sweep import Sweep


class EngineName(StrEnum):
    """Where runs are made."""

    LOCAL = "local"
    DASK = "dask"


def sweep(
    scenario: ScenarioName,
    *,
    overrides: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="Change a key; a list a,b,c or a range start:stop:step gives points. Repeatable.",
        ),
    ] = [],  # noqa: B006 - typer only reads it
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="N points of a Sobol sequence over all ranges (low:high, low:high:step, low:high:log) "
            "in place of a grid; lists stay lists.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="N seeds at each point, the same at all, for intervals.")
    ] = 1,
    draws: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="N draws of step-time coefficients and links over their ranges, the same at all points, "
            "for bands: --set timing.draw=1:N:1.",
        ),
    ] = None,
    metrics: Annotated[
        list[str],
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Show and plot this number of the JSON summary, or all of a table: prefill.by_cause. "
            "Repeatable.",
        ),
    ] = [],  # noqa: B006
    format: Annotated[Format, typer.Option(help="How to print the sweep.")] = Format.TEXT,
    out: Resumed = None,
    jobs: Jobs = None,
    engine: Annotated[
        EngineName, typer.Option(help="Processes of this machine, or the workers of a Dask cluster.")
    ] = EngineName.LOCAL,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of the Dask cluster: tcp://HOST:8786.")
    ] = None,
) -> None:
    """Run a scenario at many points with the same seeds, and print them in a table."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import say_pages
    from sim.experiments.jobs.counts import check_counts
    from sim.experiments.sweep import plan
    from sim.results.metrics import to_json
    from sim.results.quantities import select
    from sim.results.refusals import nothing_served
    from sim.runs.journal import going_on
    from sim.runs.sweep import SHOWN
    from sim.show.pictures.sweep import write_sweep_plots
    from sim.show.text.sweep import render_sweep

    check_counts(draws=draws)
    if draws is not None:
        # A list: --sample would choose from a range.
        overrides = [*overrides, f"timing.draw={','.join(map(str, range(1, draws + 1)))}"]
    found = _run(plan(scenario, overrides, repeat, sample), metrics, _engine(engine, scheduler, jobs), out)
    if len(found.failed) == len(found.runs):
        raise InputError("\n".join(found.failures()))
    chosen = select(metrics or SHOWN, found.metrics)
    with going_on(out, lambda: len(found.runs) - len(found.failed), len(found.runs)):
        if out is not None:
            say_pages(write_sweep_plots(found, chosen, out))
        if format is Format.JSON:
            typer.echo(to_json(found.to_dict(chosen)), nl=False)
        else:
            console(WIDTH).print(render_sweep(found, chosen))
    for failure in found.failures():
        typer.echo(f"Failed: {failure}", err=True)
    if found.failed:
        raise typer.Exit(1)
    if nothing_served(found.summaries):
        raise typer.Exit(UNFINISHED)


def _engine(name: EngineName, scheduler: str | None, jobs: int | None) -> "Engine":
    from sim.experiments.jobs.engine import local

    if name is EngineName.LOCAL:
        if scheduler is not None:
            raise InputError(f"--scheduler {scheduler}: goes with --engine dask")
        return local(jobs)
    if scheduler is None:
        raise InputError("--engine dask: give the cluster's --scheduler, such as tcp://10.0.0.1:8786")
    if jobs is not None:
        raise InputError(f"--jobs {jobs}: is for --engine local; a Dask cluster has its own workers")
    from sim.experiments.jobs.on_dask import dask

    return dask(scheduler)


def _run(plan: "Plan", metrics: Sequence[str], engine: "Engine", out: Path | None) -> "Sweep":
    """Make the runs; tell on stderr of each point when its last seed has ended."""
    from sim.base.progress import count_bar
    from sim.experiments.sweep import execute_plan
    from sim.results.quantities import names_before_runs, names_in, select
    from sim.runs.sweep import SHOWN, Sweep
    from sim.show.text.sweep import point_line

    # A misspelt name is worth a message now, not after hours.
    select(metrics, names_before_runs())
    left: dict[tuple[str, ...], int] = {}
    for job in plan.jobs:
        point = tuple(job.written.values())
        left[point] = left.get(point, 0) + 1
    ended: dict[tuple[str, ...], list[Run]] = {point: [] for point in left}
    with count_bar(plan.jobs[0].name, len(plan.jobs)) as on_one_more:

        def on_run(run: "Run") -> None:
            on_one_more()
            shown = select(metrics or SHOWN, names_in([run.numbers])) if run.summary is not None else []
            point = tuple(run.written.values())
            ended[point].append(run)
            left[point] -= 1
            if not left[point] and shown and len(left) > 1:
                typer.echo(point_line(Sweep(run.scenario, ended.pop(point)), shown), err=True)

        return execute_plan(plan, engine, on_run, out)
