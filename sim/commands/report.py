"""`sim report`: one page that shows a saved run."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sim.errors import InputError

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
    from sim.report.page import render_page
    from sim.results.show import count
    from sim.run import RunResult

    if out is not None and out.exists() and not force:
        raise InputError(f"--out {out}: exists; give a new file, or --force to replace it")
    _check_one_run(directory)
    page = render_page(RunResult.load(directory)).encode()
    path = directory / NAME if out is None else out
    _write(path, page)
    typer.echo(f"{path}: {count(len(page))}B, to open in a browser")


def _check_one_run(directory: Path) -> None:
    """Name what a folder holds if it is not one run.

    Raises:
        InputError: it does not hold one run.

    """
    from sim.results.saved import COMPARISON, SUMMARY

    if not directory.is_dir():
        raise InputError(f"{directory}: no such folder")
    seeds = sorted(part.name for part in directory.glob("seed-*"))
    if seeds:
        raise InputError(f"{directory}: holds {len(seeds)} seeds; a page shows one: {directory / seeds[0]}")
    if (directory / COMPARISON).is_file():
        raise InputError(f"{directory}: holds a comparison; give a folder of one run, of `sim run --out`")
    if not (directory / SUMMARY).is_file():
        raise InputError(f"{directory}: holds no run: no {SUMMARY}; give a folder that `sim run --out` made")


def _write(path: Path, page: bytes) -> None:
    """Put a page in place as a whole."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(page)
        part.replace(path)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
