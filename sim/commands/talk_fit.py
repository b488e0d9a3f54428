"""`sim calibrate talk`: coefficients fitted to the rows of the published cluster that may be fitted."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Jobs, Overrides
from sim.commands.talk import Rows, bar


def fit_talk(
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
    out: Annotated[Path, typer.Option(metavar="FILE", help="File of coefficients to write.")],
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
    jobs: Jobs = None,
) -> None:
    """Fit coefficients to the talk's rows that may be fitted, on generated sessions; takes an hour or so.

    The priors are the shipped coefficients; nothing that ran on two nodes is used.
    """
    from sim.base.errors import InputError
    from sim.base.shown import WIDTH
    from sim.base.whole_file import new_file, to_utf8
    from sim.commands.console import console
    from sim.commands.kept import say_removed
    from sim.experiments.jobs.engine import local
    from sim.hardware.coefficient_toml import to_toml
    from sim.published.cells import points
    from sim.published.fit import PLACES, Search
    from sim.published.fit_file import HEAD, content
    from sim.published.fit_show import render
    from sim.published.sensitivity import narrowed
    from sim.published.study import GENERATED, Maker, Plans, Workload, replicates, scenario_at
    from sim.published.targets import read_targets, shipped_targets
    from sim.runs.journal import journal_in

    file = read_targets(targets or shipped_targets())
    rows = [narrowed(target, PLACES) for target in file.of_kind("dynamic") if target.fitted]
    generated = Workload(GENERATED, replicates(seeds, 0))
    plans = Plans([generated], overrides)
    largest = max(points(rows), key=lambda point: point.sessions)
    workloads = [scenario_at(generated, largest, run, overrides) for run in generated.replicates]
    times = workloads[0].coefficients()
    if times.file is None:
        raise InputError(f"no file of coefficients to start from: {times.summary}")
    prior_name = f"{times.file.model}_{times.file.gpu}"
    with new_file(out, replace=force, option="--out ", on_removed=say_removed) as fitted:
        with bar() as on_total, journal_in(runs, "--runs") as journal:
            maker = Maker(local(jobs), journal, on_total)
            found = Search(rows, plans, maker, times.file).run(rounds)
        toml = to_toml(content(found, times.file, prior_name, file, workloads), HEAD)
        fitted.write_bytes(to_utf8(toml))
    console(WIDTH).print(render(found, times.file))
