"""`sim run`: simulate a scenario and print what came of it."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.commands.options import Format, Overrides, ScenarioName
from sim.errors import InputError

if TYPE_CHECKING:
    from sim.result import RunResult
    from sim.scenario import Scenario


UNFINISHED = 3
"""Exit status of a run that ended with requests that can never end; the summary says who waits for what."""


def run(
    scenario: ScenarioName,
    *,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    format: Annotated[Format, typer.Option(help="How to print the summary.")] = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to make: tables, summary, resolved scenario.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace earlier results.")] = False,
    trace_events: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a timeline for ui.perfetto.dev: Chrome trace events, gzipped if it ends with .gz.",
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Run N seeds, from the scenario's own on; print intervals."),
    ] = 1,
) -> None:
    """Simulate a scenario and print what came of it."""
    from sim.folder import new_file, new_folder
    from sim.results.metrics import to_json
    from sim.results.timeline import write_events
    from sim.scenario import load_scenario

    chosen = load_scenario(scenario, overrides)
    if trace_events is not None and repeat > 1:
        raise InputError(f"--trace-events {trace_events}: shows one run; leave --repeat out")
    with (
        nullcontext() if out is None else new_folder(out, replace=force) as folder,
        nullcontext() if trace_events is None else new_file(trace_events) as events_file,
    ):
        if repeat == 1:
            result = _simulate(chosen, folder)
            if events_file is not None:
                write_events(result.trace_events(), events_file)
            summary = result.to_dict()
            notes, summaries = result.notes, [summary]
        else:
            summary, notes, summaries = _repeat(chosen, repeat, folder)
    if format is Format.JSON:
        typer.echo(to_json(summary), nl=False)
    else:
        _print(summary, chosen.title, notes, repeated=repeat > 1)
    if any(seed["requests"]["unfinished"] for seed in summaries):
        raise typer.Exit(UNFINISHED)


def _simulate(scenario: "Scenario", folder: Path | None) -> "RunResult":
    from sim.progress import progress_bar
    from sim.running import run as simulate

    with progress_bar(f"seed {scenario.seed}") as on_progress:
        result = simulate(scenario, on_progress=on_progress)
    if folder is not None:
        result.write(folder)
    return result


def _repeat(
    scenario: "Scenario", n: int, folder: Path | None
) -> tuple[dict[str, Any], list[str], list[dict[str, Any]]]:
    """Return the combined summary of `n` seeds, all their notes, and each one's summary."""
    from sim.results.intervals import combine
    from sim.results.metrics import to_json

    summaries: list[dict[str, Any]] = []
    notes: list[str] = []
    seeds = range(scenario.seed, scenario.seed + n)
    for seed in seeds:
        part = None if folder is None else folder / f"seed-{seed}"
        if part is not None:
            part.mkdir()
        result = _simulate(scenario.model_copy(update={"seed": seed}), part)
        summaries.append(result.to_dict())
        notes += result.notes
    combined = combine(seeds, summaries)
    if folder is not None:
        (folder / "summary.json").write_text(to_json(combined), encoding="utf-8")
    return combined, list(dict.fromkeys(notes)), summaries


def _print(summary: Mapping[str, Any], title: str, notes: Sequence[str], *, repeated: bool) -> None:
    from sim.commands.console import console
    from sim.results.repeats import render_repeats
    from sim.results.summary import WIDTH, render

    shown = render_repeats if repeated else render
    console(WIDTH).print(shown(summary, title, notes))
