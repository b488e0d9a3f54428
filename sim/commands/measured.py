"""`sim measured`: what a real cluster left behind."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Format

app = typer.Typer(no_args_is_help=True, help="Read what a real cluster left behind.")


@app.callback()
def about() -> None:
    """Read what a real cluster left behind."""


@app.command()
def inspect(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Files of one run: bench JSON, metrics, logs, traces; run.toml can name them."
        ),
    ],
    *,
    format: Annotated[Format, typer.Option(help="How to print what it holds.")] = Format.TEXT,
) -> None:
    """Print what the files of a recorded run hold: requests, tokens by source, latencies, routing."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.measured.run import load_run
    from sim.measured.show import render
    from sim.measured.summary import summarise
    from sim.results.metrics import to_json

    run = load_run(folder)
    summary = summarise(run)
    if format is Format.JSON:
        typer.echo(to_json(summary), nl=False)
    else:
        console(WIDTH).print(render(summary, run.title))
