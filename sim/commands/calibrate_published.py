"""`sim calibrate published`: coefficients fitted to the rows of a published cluster."""

from pathlib import Path
from typing import Annotated

import typer

from sim.base.errors import InputError
from sim.commands.options import Jobs, Overrides
from sim.commands.published import ClusterName, Rows, total_bar


def calibrate(
    cluster: ClusterName,
    *,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of every evaluation.")] = 2,
    rounds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most rounds, a dozen sets of coefficients each.")
    ] = 3,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
    targets: Rows = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for every run as it ends; a second call goes on from there."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="File of coefficients to write, and a picture of the rows beside it (.png)."
        ),
    ],
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
    jobs: Jobs = None,
) -> None:
    """Fit coefficients to the rows of a published cluster that may be fitted, on generated sessions.

    `sim calibrate talk` is short for `sim calibrate published talk`. Takes an hour or so. The priors are the
    shipped coefficients.
    """
    from sim.base.shown import WIDTH
    from sim.base.whole_file import new_file, to_utf8
    from sim.commands.console import console
    from sim.commands.kept import check_picture, draw_beside, say_removed
    from sim.experiments.jobs.engine import local
    from sim.hardware.coefficient_toml import to_toml
    from sim.published.cells import points
    from sim.published.cluster import read_cluster
    from sim.published.fit import Search
    from sim.published.fit_file import content
    from sim.published.fit_pictures import plots_of_fit
    from sim.published.fit_show import render
    from sim.published.sets import replicates
    from sim.published.study import GENERATED, Maker, Workload, scenario_at
    from sim.runs.journal import journal_in

    check_picture(out, force=force)
    read = read_cluster(cluster, targets)
    moved = read.fit().coefficients
    rows = read.few_places(read.fitted_rows())
    generated = Workload(GENERATED, replicates(seeds, 0))
    plans = read.plans([generated], overrides)
    largest = max(points(rows), key=lambda point: point.level or 0)
    workloads = [scenario_at(generated, largest, run, plans) for run in generated.replicates]
    times = workloads[0].coefficients()
    if times.file is None:
        raise InputError(f"no file of coefficients to start from: {times.summary}")
    prior_name = f"{times.file.model}_{times.file.gpu}"
    command = f"sim calibrate published {read.folder.resolve().name}"
    head = f"Made by `{command}`. README.md says what each multiplies, and what was fitted to what."
    with new_file(out, replace=force, option="--out ", on_removed=say_removed) as fitted:
        with total_bar(read.settings.name) as on_total, journal_in(runs, "--runs") as journal:
            maker = Maker(local(jobs), journal, on_total)
            found = Search(rows, moved, plans, maker, times.file).run(rounds)
        toml = to_toml(content(found, times.file, prior_name, read, workloads), [head])
        fitted.write_bytes(to_utf8(toml))
    console(WIDTH).print(render(found, times.file, read.settings))
    draw_beside(out, lambda: plots_of_fit(found, read.settings))
