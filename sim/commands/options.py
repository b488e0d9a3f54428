"""Arguments that several commands take."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


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

Draws = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Run N draws of the coefficients over their ranges with every seed; print the bands they span.",
    ),
]
