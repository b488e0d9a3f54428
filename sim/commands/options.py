"""Arguments that several commands take."""

from typing import Annotated

import typer

Overrides = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the scenario, such as workload.sessions=28; `none` takes one out. Repeatable.",
    ),
]
