"""`sim report`: one page that shows a saved run."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.whole_file import check_out

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
    from sim.folder import new_file
    from sim.loading import load_run
    from sim.report.page import render_page
    from sim.results.show import count

    if out is not None:
        check_out(out, force=force)
    page = render_page(load_run(directory)).encode()
    path = directory / NAME if out is None else out
    with new_file(path) as file:
        file.write_bytes(page)
    typer.echo(f"{path}: {count(len(page))}B, to open in a browser")
