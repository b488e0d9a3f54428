"""`sim validate talk`: the published cluster, row by row."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sim.commands.options import Format, Overrides
from sim.errors import InputError

if TYPE_CHECKING:
    from sim.talk.study import Workload


def talk(
    *,
    traces: Annotated[
        list[str],
        typer.Option(
            "--trace",
            metavar="NAME=FILE",
            help="A recorded workload of 28 sessions or more, beside the generated ones. Repeatable.",
        ),
    ] = [],  # noqa: B006 - typer only reads it
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Seeds: of generated sessions, of ties.")
    ] = 5,
    draws: Annotated[
        int, typer.Option(min=0, metavar="N", help="Run each seed with so many draws of all coefficients.")
    ] = 0,
    overrides: Overrides = [],  # noqa: B006
    targets: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to check; those of calibration/talk/targets.csv if absent."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the results.")] = Format.TEXT,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for runs and tables; a second call goes on from there."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time; as many as there are cores if absent."),
    ] = None,
) -> None:
    """Print what the simulator says of every number that the talk's slides print.

    One configuration after another with all session counts, some minutes in all.
    """
    from joblib import cpu_count

    from sim.commands.console import console
    from sim.results.metrics import to_json
    from sim.results.summary import WIDTH
    from sim.talk.cells import points
    from sim.talk.result import result, to_dict, write
    from sim.talk.show import render
    from sim.talk.store import Store
    from sim.talk.study import Plans, make, replicates
    from sim.talk.targets import read_targets, shipped_targets

    rows = read_targets(targets or shipped_targets())
    plans = Plans(_workloads(traces), replicates(seeds, draws), overrides)
    store = Store(out)
    with _bar() as on_total:
        study = make(points(rows.of_kind("dynamic")), plans, store, jobs or cpu_count(), on_total)
    found = result(rows, study)
    if out is not None:
        write(found, out)
    if format is Format.JSON:
        typer.echo(to_json(to_dict(found)), nl=False)
    else:
        console(WIDTH).print(render(found))


def _workloads(traces: list[str]) -> list["Workload"]:
    from sim.talk.study import GENERATED, Workload

    found = [Workload(GENERATED)]
    for text in traces:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise InputError(f"--trace {text}: write it as NAME=FILE")
        if name in [workload.name for workload in found]:
            raise InputError(f"--trace {text}: {name} is there already; take another name")
        found.append(Workload(name, (f"workload.path={path}",)))
    return found


@contextmanager
def _bar() -> Iterator[Callable[[int], Callable[[], None]]]:
    """Yield what opens a bar once it is known how many runs are to be made."""
    from sim.progress import count_bar

    with ExitStack() as stack:
        yield lambda total: stack.enter_context(count_bar("the talk", total))
