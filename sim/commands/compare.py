"""`sim compare`: scenarios and saved results side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sim.base.errors import InputError
from sim.commands.options import Bounds, Draws, Format, Jobs
from sim.commands.run import UNFINISHED

if TYPE_CHECKING:
    from sim.experiments.compare import Plan
    from sim.experiments.comparison import Comparison
    from sim.runs.run import Run


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO_OR_FOLDER",
            help="TOML files, names of shipped scenarios, or folders that --out made.",
        ),
    ],
    *,
    overrides: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="Change a key of all; a list a,b,c or a range start:stop:step gives points. Repeatable.",
        ),
    ] = [],  # noqa: B006 - typer only reads it
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help='Run each scenario under these routing policies: "kv,round-robin", or "all".',
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Run N seeds, from the first scenario's own on, for intervals."
        ),
    ] = None,
    draws: Draws = None,
    bounds: Bounds = False,
    explain_versions: Annotated[
        bool,
        typer.Option(
            "--explain-versions",
            help="Say which rule of vLLM moved each number from the first engine.version to the others, by "
            "further runs with one rule switched. Without --set engine.version: from the scenario's own.",
        ),
    ] = False,
    metrics: Annotated[
        list[str],
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Show this number of the JSON summary, or all of a table: prefill.by_cause. Repeatable.",
        ),
    ] = [],  # noqa: B006
    format: Annotated[Format, typer.Option(help="How to print the comparison.")] = Format.TEXT,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to make: table, plot, all summaries, scenarios."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace earlier results.")] = False,
    jobs: Jobs = None,
) -> None:
    """Run scenarios with the same seeds, or read saved results, and print them side by side."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import out_folder
    from sim.experiments.compare import plan
    from sim.experiments.rule_runs import said
    from sim.results.metrics import to_json
    from sim.results.quantities import USUAL, select_or
    from sim.results.refusals import nothing_served
    from sim.runs.rule_effects import to_dict
    from sim.runs.saved import write_comparison
    from sim.show.pictures.comparison import PLOTTED, write_plot
    from sim.show.text.compared import render_compared

    with out_folder(out, force=force) as kept:
        made = plan(
            sources, overrides, repeat, draws, policies, bounds=bounds, explain_versions=explain_versions
        )
        if explain_versions:
            typer.echo(said(made.jobs, made.rules), err=True)
        comparison = _run(made, metrics, jobs)
        if len(comparison.failed) == len(comparison.runs):
            raise InputError("\n".join(comparison.failures()))
        chosen = select_or(metrics, USUAL, comparison.metrics)
        kept.write(lambda folder: write_comparison(comparison, chosen, folder))
        plotted = select_or(metrics, PLOTTED, comparison.metrics)
        kept.pictures(
            lambda folder: write_plot(comparison, plotted, folder),
            f"; sim compare {out} --out NEW draws it again",
        )
    with kept.shown():
        if format is Format.JSON:
            typer.echo(to_json(to_dict(comparison, chosen)), nl=False)
        else:
            console(WIDTH).print(render_compared(comparison, chosen))
    failures = [*comparison.failures()]
    for failure in failures:
        typer.echo(f"Failed: {failure}", err=True)
    if failures:
        raise typer.Exit(1)
    if nothing_served(comparison.summaries):
        raise typer.Exit(UNFINISHED)


def _run(plan: "Plan", metrics: Sequence[str], jobs: int | None) -> "Comparison":
    from sim.base.progress import count_bar
    from sim.experiments.compare import execute
    from sim.results.bounds import NAMES
    from sim.results.quantities import names_before_runs, names_in, select

    numbers = {run.scenario: run.numbers for run in plan.saved}
    asked = NAMES if plan.bounds else ()
    # A misspelt name is worth a message now; in a table that only some runs have it takes the first runs.
    select(metrics, [*names_before_runs(), *names_in(numbers.values()), *asked])
    with count_bar("comparing", plan.n_runs) as on_one_more:

        def on_run(run: "Run") -> None:
            on_one_more()
            if run.summary is not None and run.scenario not in numbers:
                numbers[run.scenario] = run.numbers
                if len(numbers) == len(plan.names):
                    select(metrics, [*names_in(numbers.values()), *asked])

        return execute(plan, jobs, on_run)
