"""`sim report`: one page that shows a saved run."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "report.html"


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What --out of sim run made.")],
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write.", show_default=f"{NAME} in DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
) -> None:
    """Write a page about a saved run: charts, session maps, the costliest decisions."""
    from sim.base.whole_file import to_utf8, whole_file
    from sim.base.words import data
    from sim.commands.kept import keeping_nothing, out_file, say_removed
    from sim.experiments.load import load_run
    from sim.report.page import render_page

    path = directory / NAME if out is None else out
    with keeping_nothing():
        run = load_run(directory)
        with out_file(path, force=force) if out else whole_file(path, on_removed=say_removed) as file:
            page = to_utf8(render_page(run))
            file.write_bytes(page)
    typer.echo(f"{path}: {data(len(page))}, to open in a browser")
