"""`sim report`: one page that shows a saved run, two of them, or a sweep."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

NAME = "report.html"
"""As in `sim.report.run_pages`, which takes long to import."""


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR [OTHER]",
            help="What --out of sim run, sim sweep or sim compare made; two runs are shown side by side.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page to write.",
            show_default=f"{NAME} in DIR; of two runs beside-OTHER.html in DIR",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
) -> None:
    """Write a page about a saved run: charts, session maps, the costliest decisions; or about several."""
    from sim.base.errors import InputError
    from sim.base.whole_file import to_utf8, whole_file
    from sim.commands.kept import keeping_nothing, out_file, say_removed

    if len(directories) > 2:
        raise InputError(
            f"{' '.join(map(str, directories))}: a page shows one folder or two runs; "
            "for more, sim compare --out DIR, then sim report DIR"
        )
    path = _default(directories) if out is None else out
    with keeping_nothing():
        render = _renderer(directories, path)
        with out_file(path, force=force) if out else whole_file(path, on_removed=say_removed) as file:
            file.write_bytes(to_utf8(render()))
    typer.echo(f"{path}: to open in a browser")


def _default(directories: list[Path]) -> Path:
    first, *others = directories
    return first / (f"beside-{others[0].resolve().name}.html" if others else NAME)


def _renderer(directories: list[Path], path: Path) -> Callable[[], str]:
    """Read what a page is about, and return what makes the page of it."""
    from sim.experiments.load import load_run
    from sim.report.many_page import holds_many, render_folder
    from sim.report.page import render_page
    from sim.report.run_pages import address
    from sim.report.two_page import render_two

    if len(directories) == 1 and holds_many(directories[0]):
        return partial(render_folder, directories[0], path)
    runs = [load_run(directory) for directory in directories]
    if len(runs) == 1:
        return partial(render_page, runs[0])
    return partial(
        render_two, runs[0], runs[1], [address(directory / NAME, path) for directory in directories]
    )
