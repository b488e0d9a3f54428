"""`sim trace convert`, `generate` and `sample`: traces as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sim.commands.trace_source import AsFormat, TraceKeys, TracePath

if TYPE_CHECKING:
    from sim.workload.request import Trace

Out = Annotated[
    Path, typer.Argument(metavar="OUT", help="File to make, whole or not at all; gzipped if it ends in .gz.")
]
To = Annotated[
    str,
    typer.Option("--to", metavar="FORMAT", help="mooncake, timed_trace, dynamo or agentic_mooncake."),
]
Force = Annotated[bool, typer.Option("--force", help="Let OUT replace a file that is there.")]
ScenarioKeys = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A key of the scenario: workload.synthetic.sessions=9. Repeatable."
    ),
]
WindowPlace = Annotated[
    str, typer.Option(metavar="WINDOW", help="Which turns: first, middle, last or from:K, the first being 0.")
]


def convert(
    path: TracePath,
    out: Out,
    *,
    to: To,
    as_format: AsFormat = "auto",
    overrides: TraceKeys = [],  # noqa: B006 - typer only reads it
    force: Force = False,
) -> None:
    """Write a trace in another format, and say what that cannot hold of it."""
    from sim.commands.trace_source import load
    from sim.traces.writers import writer

    writer(to)
    write(load([path], as_format, overrides), out, to, force=force)


def generate(
    out: Out,
    *,
    profile: Annotated[
        str | None, typer.Option(metavar="PROFILE", help="Sessions of agents to generate: talk or kct.")
    ] = None,
    sessions: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many of them.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Of their chance; 0, or the scenario's.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Turns of each; as many as drawn if absent.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="WINDOW", help="Which turns: first or middle; middle if absent.")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(metavar="SCENARIO", help="Whose workload to write, as a run of it would make it."),
    ] = None,
    overrides: ScenarioKeys = [],  # noqa: B006 - typer only reads it
    to: To = "mooncake",
    force: Force = False,
) -> None:
    """Write generated sessions of coding agents, or a scenario's workload, to a file."""
    from sim.traces.writers import writer

    writer(to)
    every = {"profile": profile, "sessions": sessions, "turns": turns, "window": window}
    given: dict[str, object] = {key: value for key, value in every.items() if value is not None}
    trace = (
        _of_scenario(scenario, overrides, seed, given) if scenario else _of_profile(given, seed, overrides)
    )
    write(trace, out, to, force=force)


def _of_profile(given: dict[str, object], seed: int | None, overrides: Sequence[str]) -> "Trace":
    from pydantic import ValidationError

    from sim.base.errors import InputError
    from sim.base.messages import first_problem
    from sim.workload.load import load_workload
    from sim.workload.settings import WorkloadSettings

    if "profile" not in given:
        raise InputError("give --profile, or --scenario to write the workload of one")
    if overrides:
        raise InputError(f"--set {overrides[0]}: only beside --scenario")
    try:
        settings = WorkloadSettings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"--{first_problem(error)}") from error
    return load_workload(settings, seed or 0, Path())


def _of_scenario(
    scenario: str, overrides: Sequence[str], seed: int | None, given: dict[str, object]
) -> "Trace":
    from sim.base.errors import InputError
    from sim.scenario.load import load_scenario
    from sim.workload.load import load_workload

    if given:
        raise InputError(f"--{next(iter(given))}: not beside --scenario; --set changes its workload")
    loaded = load_scenario(scenario, overrides)
    return load_workload(loaded.workload, loaded.seed if seed is None else seed, Path())


def sample(
    path: TracePath,
    out: Out,
    *,
    sessions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many sessions, whole ones; all if absent.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Which: fewer sessions of one seed are among more of it.")
    ] = 0,
    turns: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Turns of each; all if absent.")
    ] = None,
    window: WindowPlace = "first",
    to: To = "mooncake",
    as_format: AsFormat = "auto",
    overrides: TraceKeys = [],  # noqa: B006 - typer only reads it
    force: Force = False,
) -> None:
    """Write some sessions of a trace to a file, and say what an infinite cache hits before and after."""
    from sim.base import words
    from sim.commands.trace_source import load
    from sim.traces.sample import Window
    from sim.traces.sample import sample as drawn
    from sim.traces.walk import walk
    from sim.traces.writers import writer

    writer(to)
    chosen = Window(turns, window)
    whole = load([path], as_format, overrides)
    some = drawn(whole, sessions, seed=seed, window=chosen)
    hits = (words.percent(walk(trace).ideal_hit) for trace in (whole, some))
    write(some, out, to, force=force, also=["ideal hit {} before, {} after".format(*hits)])


def write(
    trace: "Trace", out: Path, to: str, *, force: bool, also: Sequence[str] = (), option: str = "OUT"
) -> None:
    """Write a trace to a file; print what is in it, what is not, and how to run it."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import out_file
    from sim.show.text.written import render_written
    from sim.traces.convert import write_trace
    from sim.traces.writers import writer

    target = writer(to)
    with out_file(out, force=force, option=option) as file:
        lost = write_trace(trace, file, target, packed=out.suffix == ".gz")
    console(WIDTH).print(render_written(trace, out, target, lost, also))
