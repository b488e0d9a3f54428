"""Arguments that several commands take."""

from enum import StrEnum
from pathlib import Path
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

Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds",
        help="Run the same under round robin and under an oracle too, for the share of prompt tokens that "
        "these would hit.",
    ),
]

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Runs at a time; as many as there are cores if absent."),
]

Resumed = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for results, and for every run as it ends: "
        "a second call goes on where the first one stopped.",
    ),
]
