"""`sim capacity`: how many KV blocks and sessions fit into a GPU, line by line."""

from typing import Annotated

import typer

from sim.commands.options import Overrides


def capacity(
    scenario: Annotated[
        str, typer.Argument(metavar="[SCENARIO]", help="A TOML file, or the name of a shipped scenario.")
    ] = "agg8",
    model: Annotated[
        str | None, typer.Option(help="In place of the scenario's: a preset, or a Hugging Face config.json.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="In place of the scenario's: a preset.")] = None,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
) -> None:
    """Print how the memory of one worker is divided, and how many sessions fit.

    With status 2, and why, if vLLM 0.28.0 would not start for want of KV memory.
    """
    from sim.base.errors import InputError
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.scenario.load import load_scenario
    from sim.show.text.capacity import render
    from sim.simulation.startup import check_startup

    chosen = [f"{key}={name}" for key, name in (("model", model), ("gpu", gpu)) if name is not None]
    loaded = load_scenario(scenario, [*chosen, *overrides])
    result, screen = loaded.capacity(), console(WIDTH)
    try:
        notes = check_startup(loaded, result)
    except InputError:
        render(result, screen)
        raise
    render(result, screen, notes)
