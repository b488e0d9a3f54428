"""`sim validate --requests`: latencies of one engine's requests, predicted and measured."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sim.commands.options import Format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sim.commands.kept import OutFolder


def validate_requests(
    scenario: str,
    path: Path,
    overrides: list[str],
    format: Format,
    out: Path | None,
    *,
    baselines: bool,
    force: bool,
) -> None:
    """Print how far predicted latencies are off, for every run of a file."""
    from sim.base.progress import count_bar
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import out_folder
    from sim.measured.formats.requests_csv import read_requests
    from sim.results.metrics import to_json
    from sim.scenario.load import load_scenario
    from sim.validation.pictures import plots_of_requests
    from sim.validation.requests.show import render
    from sim.validation.requests.validate import n_predictions
    from sim.validation.requests.validate import validate_requests as predict

    settings, file = load_scenario(scenario, overrides), read_requests(path)
    with out_folder(out, force=force) as kept:
        with count_bar("requests", n_predictions(file, settings, baselines=baselines)) as on_run:
            result = predict(file, settings, baselines=baselines, on_run=on_run)
        keep(kept, result, lambda: plots_of_requests(result, scenario))
    with kept.shown(""):
        if format is Format.JSON:
            typer.echo(to_json(result), nl=False)
        else:
            console(WIDTH).print(render(result, scenario))


def keep(kept: "OutFolder", numbers: Mapping[str, Any], plots: "Callable[[], list[Figure]]") -> None:
    """Write the numbers of a validation and its picture into the folder of `--out`, if there is one."""
    from sim.base.folder import MARK
    from sim.base.whole_file import write_text
    from sim.results.metrics import to_json
    from sim.validation.pictures import write_pictures

    kept.write(lambda folder: write_text(folder / MARK, to_json(numbers)))
    kept.pictures(lambda folder: write_pictures(plots(), folder), "")
