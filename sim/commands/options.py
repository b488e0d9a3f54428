"""Arguments that several commands take."""

from typing import Annotated

import typer

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A TOML file, or the name of a shipped scenario.")
]

Overrides = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the scenario: workload.sessions=28. The value none takes it out. Repeatable.",
    ),
]
