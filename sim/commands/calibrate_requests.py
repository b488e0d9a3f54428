"""`sim calibrate requests`: the step-time law fitted to whole requests by running the simulator itself."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.options import Jobs, Overrides, ScenarioName


def requests(
    scenario: ScenarioName,
    *,
    requests: Annotated[
        Path, typer.Option(metavar="CSV", help="Runs of the engine, as sim validate --requests takes them.")
    ],
    fit: Annotated[
        list[str],
        typer.Option(metavar="RUN", help="A run of the file to fit; the others test it. Repeatable."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Where the file of coefficients goes, and a picture of its errors beside it (.png).",
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="A coefficient to fit, in place of the usual ones. Repeatable."),
    ] = [],  # noqa: B006 - typer only reads it
    window: Annotated[
        int, typer.Option(min=20, metavar="N", help="First requests of each run that are simulated.")
    ] = 1000,
    starts: Annotated[int, typer.Option(min=1, metavar="N", help="Starts of the fit.")] = 2,
    draws: Annotated[int, typer.Option(min=0, metavar="N", help="Joint draws for the file.")] = 50,
    cross_validate: Annotated[
        bool, typer.Option(help="Also predict each fitted run by a fit to the others.")
    ] = False,
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
) -> None:
    """Fit step times to whole requests by running the simulator itself, and try the fit on the other runs.

    The scenario's coefficients are the start; those that are not fitted are held.
    """
    from sim.base.progress import count_bar
    from sim.base.shown import WIDTH
    from sim.base.whole_file import to_utf8
    from sim.calibration.requests import FREE, Settings, calibrate
    from sim.calibration.requests_show import head_lines, render
    from sim.commands.console import console
    from sim.commands.kept import check_picture, draw_beside, out_file
    from sim.hardware.coefficient_toml import to_toml
    from sim.measured.formats.requests_csv import read_requests
    from sim.scenario.load import load_scenario
    from sim.validation.pictures import plots_of_requests

    check_picture(out, force=force)
    settings = Settings(
        free=tuple(free) or FREE,
        window=window,
        starts=starts,
        draws=draws,
        cross_validate=cross_validate,
        jobs=jobs,
    )
    with (
        out_file(out, force=force) as file,
        count_bar("simulating", None, "window") as on_simulated,
    ):
        found = calibrate(
            read_requests(requests), load_scenario(scenario, overrides), fit, settings, on_simulated
        )
        file.write_bytes(to_utf8(to_toml(found.content, head_lines(found.content))))
    console(WIDTH).print(render(found, scenario, str(out)))
    draw_beside(out, lambda: plots_of_requests(found.accuracy, scenario))
