"""`sim validate --requests`: latencies of one engine's requests, predicted and measured."""

from pathlib import Path

import typer

from sim.commands.options import Format


def validate_requests(
    scenario: str, path: Path, overrides: list[str], format: Format, *, baselines: bool
) -> None:
    """Print how far predicted latencies are off, for every run of a file."""
    from sim.base.progress import count_bar
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import keeping_nothing
    from sim.measured.formats.requests_csv import read_requests
    from sim.results.metrics import to_json
    from sim.scenario.load import load_scenario
    from sim.validation.requests.show import render
    from sim.validation.requests.validate import n_predictions
    from sim.validation.requests.validate import validate_requests as predict

    settings, file = load_scenario(scenario, overrides), read_requests(path)
    n = n_predictions(file, settings, baselines=baselines)
    with keeping_nothing(), count_bar("predicting", n) as on_run:
        result = predict(file, settings, baselines=baselines, on_run=on_run)
    if format is Format.JSON:
        typer.echo(to_json(result), nl=False)
    else:
        console(WIDTH).print(render(result, scenario))
