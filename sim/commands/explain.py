"""`sim explain`: why a request went where it went."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Format


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out of `sim run` made.")],
    request: Annotated[
        str, typer.Argument(metavar="REQUEST", help="Its index, from 0, or session:turn, such as talk-3:7.")
    ],
    *,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.TEXT,
) -> None:
    """Explain a routing decision: each worker's terms, who won and why, what it cost afterwards."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.experiments.load import load_run
    from sim.results.metrics import to_json

    found = load_run(folder).explain(request)
    if format is Format.JSON:
        typer.echo(to_json(found.to_dict()), nl=False)
    else:
        console(WIDTH).print(found)
