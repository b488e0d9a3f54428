"""`sim validate talk`: the published cluster, row by row."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.base.errors import InputError
from sim.commands.options import Format, Jobs, Overrides, Resumed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sim.published.study import Maker, Plans, Replicate, Workload
    from sim.published.targets import TargetFile


Traces = Annotated[
    list[str],
    typer.Option(
        "--trace",
        metavar="NAME=FILE",
        help="A recorded workload of 28 sessions or more, beside the generated ones. Repeatable.",
    ),
]
Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Sets of generated sessions.")]
Rows = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Rows to check; those of calibration/talk/targets.csv if absent."),
]


def talk(
    *,
    traces: Traces = [],  # noqa: B006 - typer only reads it
    seeds: Seeds = 5,
    trace_seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of a recorded workload: only ties differ.")
    ] = 2,
    draws: Annotated[
        int, typer.Option(min=0, metavar="N", help="Run each seed with so many draws of all coefficients.")
    ] = 0,
    overrides: Overrides = [],  # noqa: B006
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Simpler models beside it, on the generated sessions.")
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Instead: which assumption each row hangs on, moved one by one."),
    ] = False,
    targets: Rows = None,
    format: Annotated[Format, typer.Option(help="How to print the results.")] = Format.TEXT,
    out: Resumed = None,
    jobs: Jobs = None,
) -> None:
    """Print what the simulator says of every number that the talk's slides print.

    Takes minutes: hundreds of runs. --sensitivity takes as long again; both go on where an earlier call with
    the same --out was stopped.
    """
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.experiments.jobs.engine import local
    from sim.published.study import GENERATED, Maker, Plans, Workload, replicates
    from sim.published.targets import read_targets, shipped_targets
    from sim.results.metrics import to_json
    from sim.runs.journal import journal_in

    if baselines and sensitivity:
        raise InputError("--baselines and --sensitivity: give one of them")
    rows = read_targets(targets or shipped_targets())
    generated = Workload(GENERATED, replicates(seeds, draws))
    plans = Plans([generated, *_recorded(traces, replicates(trace_seeds, draws))], overrides)
    answer = _sensitivity if sensitivity else _baselines if baselines else _rows
    with bar() as on_total, journal_in(out) as journal:
        content, shown = answer(rows, plans, Maker(local(jobs), journal, on_total), out)
    if format is Format.JSON:
        typer.echo(to_json(content), nl=False)
    else:
        console(WIDTH).print(shown)


Answer = tuple[dict[str, Any], "RenderableType"]
"""The same for JSON and for a terminal."""


def _rows(rows: "TargetFile", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    from sim.published.cells import points
    from sim.published.result import result, to_dict, write
    from sim.published.show import render
    from sim.published.study import make

    found = result(rows, make(points(rows.of_kind("dynamic")), plans, maker))
    if out is not None:
        write(found, out)
    return to_dict(found), render(found)


def _baselines(rows: "TargetFile", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    from sim.published.baselines import STEP_TIMES, score_timeless
    from sim.published.beside import render, to_dict, write
    from sim.published.variants import Variant, score_variants

    timing = tuple(text for text in plans.overrides if text.startswith("timing."))
    asked = [Variant("as set", timing)] if timing else []
    plans = replace(plans, overrides=[text for text in plans.overrides if text not in timing])
    dynamic = rows.of_kind("dynamic")
    found = list(score_variants(dynamic, [*asked, *STEP_TIMES], plans, maker))
    found.append(score_timeless(dynamic, plans))
    if out is not None:
        write(found, out / "baselines.csv")
    return to_dict(found), render(dynamic, found)


def _sensitivity(rows: "TargetFile", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    from sim.published.beside import to_dict, write
    from sim.published.plots import write_sensitivity
    from sim.published.sensitivity import render_sentences, study, write_sentences

    found = study(rows.of_kind("dynamic"), plans, maker)
    if out is not None:
        write(found.scored, out / "sensitivity.csv")
        write_sentences(found, out / "sentences.csv")
        write_sensitivity(found.scored, out / "sensitivity.svg")
    return {**to_dict(found.scored), "sentences": found.sentences}, render_sentences(found)


def _recorded(traces: list[str], replicates: list["Replicate"]) -> list["Workload"]:
    """Return what `--trace` names."""
    from sim.published.study import GENERATED, Workload

    found: dict[str, Workload] = {}
    for text in traces:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise InputError(f"--trace {text}: write it as NAME=FILE")
        if name in {GENERATED, *found}:
            raise InputError(f"--trace {text}: {name} is there already; take another name")
        found[name] = Workload(name, replicates, (f"workload.path={path}",))
    return [*found.values()]


@contextmanager
def bar() -> Iterator[Callable[[int], Callable[[], None]]]:
    """Yield what opens a bar once it is known how many runs are to be made."""
    from sim.base.progress import count_bar

    with ExitStack() as stack:

        def opened(total: int) -> Callable[[], None]:
            stack.close()  # a terminal shows one bar at a time
            return stack.enter_context(count_bar("the talk", total))

        yield opened
