"""`sim run`: simulate a scenario and print what came of it."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.base.errors import InputError
from sim.commands.options import Bounds, Draws, Format, Overrides, ScenarioName

if TYPE_CHECKING:
    from sim.commands.kept import OutFolder
    from sim.scenario.scenario import Scenario
    from sim.simulation.result import RunResult


UNFINISHED = 3
"""Exit status where requests were left that can never end, or where no request was served; the output
says who waits for what, or why."""


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
    draws: Draws = None,
    bounds: Bounds = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check while it runs that nothing is lost: blocks, tokens, requests, loads, bytes, time; "
            "same results, up to twice the time.",
        ),
    ] = False,
) -> None:
    """Simulate a scenario and print what came of it."""
    from sim.commands.kept import check_place, out_folder
    from sim.experiments.jobs.counts import check_counts
    from sim.results.metrics import to_json
    from sim.results.refusals import nothing_served
    from sim.scenario.load import load_scenario

    check_counts(repeat=repeat, draws=draws)
    chosen = load_scenario(scenario, overrides)
    single = repeat == 1 and draws is None
    if trace_events is not None and not single:
        raise InputError(f"--trace-events {trace_events}: shows one run; leave --repeat and --draws out")
    if trace_events is not None:
        check_place(trace_events)
    with out_folder(out, force=force) as kept:
        if single:
            result = _simulate(chosen, check=check, bounds=bounds)
            kept.write(result.write)
            summary = result.to_dict()
            notes, summaries = result.notes, [summary]
        else:
            summary, notes, summaries = _repeat(chosen, repeat, draws, kept, check=check, bounds=bounds)
    with kept.shown(f"; for the browser: sim report {out}" if single else ""):
        if trace_events is not None:
            kept.also(lambda: result.save_trace_events(trace_events), "")
        if format is Format.JSON:
            typer.echo(to_json(summary), nl=False)
        else:
            _print(summary, chosen.title, notes, repeated="runs" in summary)
    if any(seed["requests"]["unfinished"] for seed in summaries) or nothing_served(summaries):
        raise typer.Exit(UNFINISHED)


def _simulate(scenario: "Scenario", *, check: bool, bounds: bool) -> "RunResult":
    from sim.base.progress import progress_bar
    from sim.experiments.bounds import bounded
    from sim.simulation.run import run as simulate

    draw = f", draw {scenario.timing.draw}" if scenario.timing.draw else ""
    with progress_bar(f"seed {scenario.seed}{draw}") as on_progress:
        result = simulate(scenario, on_progress=on_progress, check=check or None)
    return bounded(result) if bounds else result


def _repeat(
    scenario: "Scenario", repeat: int, draws: int | None, kept: "OutFolder", *, check: bool, bounds: bool
) -> tuple[dict[str, Any], list[str], list[dict[str, Any]]]:
    """Return the combined summary of every draw of every seed, their notes, and each one's summary."""
    from sim.base.whole_file import write_text
    from sim.results.metrics import to_json
    from sim.runs.repeats import combine
    from sim.show.text.repeats import trace_note

    drawn = scenario.draws(draws)
    summaries: list[dict[str, Any]] = []
    notes: list[list[str]] = []
    seeds = range(scenario.seed, scenario.seed + repeat)
    for seed in seeds:
        of_seed = []
        for one in drawn:
            seeded = one.model_copy(update={"seed": seed})
            of_seed.append(_simulate(seeded, check=check, bounds=bounds))
            kept.write(partial(_write_part, of_seed[-1], _part(seeded, repeat, draws)))
        summaries += [result.to_dict() for result in of_seed]
        notes.append([note for note in of_seed[0].notes if all(note in other.notes for other in of_seed)])
    combined = combine(seeds, summaries, [one.timing.draw for one in drawn] if draws else ())
    kept.write(lambda folder: write_text(folder / "summary.json", to_json(combined)))
    said = trace_note(seeds, [scenario.workload.model_dump()])
    return combined, [*said, *_of_all(notes)], summaries


def _of_all(notes: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes of the first seed, and of those that others word otherwise that they have them too."""
    first, *others = notes
    return [
        note if all(note in other for other in others) else f"{note}; other seeds likewise" for note in first
    ]


def _part(scenario: "Scenario", repeat: int, draws: int | None) -> str:
    """Return the folder of one of several runs."""
    names = [f"seed-{scenario.seed}"] if repeat > 1 or not draws else []
    names += [f"draw-{scenario.timing.draw}"] if draws else []
    return "-".join(names)


def _write_part(result: "RunResult", name: str, folder: Path) -> None:
    part = folder / name
    part.mkdir()
    result.write(part)


def _print(summary: Mapping[str, Any], title: str, notes: Sequence[str], *, repeated: bool) -> None:
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.show.text.repeats import render_repeats
    from sim.show.text.summary import render

    shown = render_repeats if repeated else render
    console(WIDTH).print(shown(summary, title, notes))
