"""`sim validate published`: published clusters, row by row."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.base.errors import InputError
from sim.commands.options import Format, Jobs, Overrides, Resumed
from sim.commands.published_all import Answer, listed, overview, stored_overview
from sim.commands.published_beside import assumed, baselines_of, sensitivity_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sim.published.cluster import PublishedCluster
    from sim.published.result import Result
    from sim.published.sets import Replicate
    from sim.published.settings import WorkloadSettings
    from sim.published.study import Maker, Plans, Workload


_CLUSTER_HELP = "A published cluster: a folder, or a name below calibration/published: talk."
ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help=_CLUSTER_HELP)]
Traces = Annotated[
    list[str],
    typer.Option(
        "--trace",
        metavar="NAME=FILE",
        help="A recorded workload beside the scenarios' own, with as many sessions as the rows speak of. "
        "Repeatable.",
    ),
]
Rows = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Rows in place of targets.csv of the cluster's folder.")
]


def validate(
    cluster: Annotated[
        str | None,
        typer.Argument(metavar="CLUSTER", help=f"{_CLUSTER_HELP} Without one, those that are shipped."),
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="All that are shipped, in one table; --out gets a folder of each.")
    ] = False,
    stored: Annotated[
        bool,
        typer.Option("--stored", help="No run: what is stored beside the rows of CLUSTER, or of all."),
    ] = False,
    traces: Traces = [],  # noqa: B006 - typer only reads it
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Sets of generated sessions; usual: what its study.toml says."),
    ] = None,
    trace_seeds: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Runs of a recorded workload, usual: 2. Without --sets only ties differ."
        ),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Draw so many sets of sessions: generated ones anew, recorded ones in another order; each "
            "with one seed unless --seeds or --trace-seeds says more, and scored by the median over sets.",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=0, metavar="N", help="Run each seed with so many draws of all coefficients.")
    ] = 0,
    overrides: Overrides = [],  # noqa: B006
    assume: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Instead: sets of assumptions of its study.toml beside each other, names with commas "
            "between or all, at typical session counts.",
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="With --assume: at all session counts that rows speak of.")
    ] = False,
    without: Annotated[
        bool,
        typer.Option("--without", help="With --assume: what rows hang on, each setting left out in turn."),
    ] = False,
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
    """Print what the simulator says of every number that is printed of a published cluster.

    Without a cluster: which there are. --all: of each, rows within tolerance, median error and A/B signs.
    `sim validate talk` is short for `sim validate published talk`. Takes minutes: hundreds of runs.
    --sensitivity takes as long again; all go on where an earlier call with the same --out was stopped.
    """
    from sim.published.cluster import read_cluster
    from sim.published.sets import replicates, replicates_of_sets
    from sim.published.study import GENERATED, Workload

    if (baselines, sensitivity, assume is not None).count(True) > 1:
        raise InputError("--baselines, --sensitivity and --assume: give one of them")
    for option, asked in (("--without", without), ("--everywhere", everywhere)):
        if asked and assume is None:
            raise InputError(f"{option}: only with --assume")
    of_one = {
        "--trace": traces,
        "--targets": targets,
        "--baselines": baselines,
        "--sensitivity": sensitivity,
        "--assume": assume,
        "--sets": sets,
    }
    given = [name for name, value in of_one.items() if value]
    if given and (cluster is None or stored):
        raise InputError(f"{given[0]}: is of the runs of one cluster; name one, without --all or --stored")
    if everything and cluster is not None:
        raise InputError(f"--all: is of all clusters; leave out {cluster}")
    if stored:
        _print(format, *stored_overview(cluster))
        return
    if cluster is None:

        def validated(one: "PublishedCluster", folder: Path | None) -> "Result":
            sent = Workload(GENERATED, replicates(seeds or one.settings.seeds, draws))
            with _made(one, folder, jobs) as maker:
                return _result(one, one.plans([sent], overrides), maker, folder)

        _print(format, *(overview(validated, out) if everything else listed()))
        return
    found = read_cluster(cluster, targets)
    if sets is None:
        own = replicates(seeds or found.settings.seeds, draws)
        of_traces = replicates(trace_seeds or 2, draws)
    else:
        own = replicates_of_sets(sets, seeds or 1, draws, recorded=False)
        of_traces = replicates_of_sets(sets, trace_seeds or 1, draws, recorded=True)
    recorded = _recorded(traces, of_traces, found.settings.workload)
    plans = found.plans([Workload(GENERATED, own), *recorded], overrides)
    answer: Answering = sensitivity_of if sensitivity else baselines_of if baselines else _rows
    if assume is not None:
        answer = partial(assumed, assume.split(","), everywhere=everywhere, without=without)
    with _made(found, out, jobs) as maker:
        content, shown = answer(found, plans, maker, out)
    _print(format, content, shown)


@contextmanager
def _made(cluster: "PublishedCluster", out: Path | None, jobs: int | None) -> Iterator["Maker"]:
    """Yield what makes runs, keeps them in a folder, and shows how many there are."""
    from sim.experiments.jobs.engine import local
    from sim.published.study import Maker
    from sim.runs.journal import journal_in

    with total_bar(cluster.settings.name) as on_total, journal_in(out) as journal:
        yield Maker(local(jobs), journal, on_total)


def _print(format: Format, content: dict[str, Any], shown: "RenderableType") -> None:
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.results.metrics import to_json

    if format is Format.JSON:
        typer.echo(to_json(content), nl=False)
    else:
        console(WIDTH).print(shown)


Answering = Callable[["PublishedCluster", "Plans", "Maker", Path | None], "Answer"]


def _rows(cluster: "PublishedCluster", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    from sim.published.result import to_dict
    from sim.published.show import render

    found = _result(cluster, plans, maker, out)
    return to_dict(found), render(found)


def _result(cluster: "PublishedCluster", plans: "Plans", maker: "Maker", out: Path | None) -> "Result":
    from sim.published.cells import points
    from sim.published.page import write_page
    from sim.published.result import result, write
    from sim.published.study import make

    study = make(points(cluster.targets.of_kind("dynamic")), plans, maker)
    found = result(cluster, study)
    if out is not None:
        write(found, out)
        write_page(found, out)
    return found


def _recorded(
    traces: list[str], replicates: tuple["Replicate", ...], known: "Mapping[str, WorkloadSettings]"
) -> list["Workload"]:
    """Return what `--trace` names, with what a cluster says of some of these names."""
    from sim.published.study import GENERATED, Workload

    found: dict[str, Workload] = {}
    for text in traces:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise InputError(f"--trace {text}: write it as NAME=FILE")
        if name in {GENERATED, *found}:
            raise InputError(f"--trace {text}: {name} is there already; take another name")
        own = known[name].set if name in known else ()
        found[name] = Workload(name, replicates, (*own, f"workload.path={path}"))
    return [*found.values()]


@contextmanager
def total_bar(title: str) -> Iterator[Callable[[int], Callable[[], None]]]:
    """Yield what opens a bar once it is known how many runs are to be made."""
    from sim.base.progress import count_bar

    with ExitStack() as stack:

        def opened(total: int) -> Callable[[], None]:
            stack.close()  # a terminal shows one bar at a time
            return stack.enter_context(count_bar(title, total))

        yield opened
