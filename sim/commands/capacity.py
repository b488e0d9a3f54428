"""`sim capacity`: how many KV blocks and sessions fit into the GPUs of a worker, line by line."""

from typing import Annotated

import typer

from sim.commands.options import Overrides


def capacity(  # noqa: PLR0917 - options, which typer passes by name
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A TOML file, or the name of a shipped scenario.")
    ] = "agg8",
    model: Annotated[
        str | None,
        typer.Option(help="In place of the scenario's: a preset, a name on Hugging Face, or a config.json."),
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="In place of the scenario's: a preset.")] = None,
    tp: Annotated[
        int | None, typer.Option("--tp", min=1, help="Tensor-parallel GPUs, in place of the scenario's.")
    ] = None,
    pp: Annotated[int | None, typer.Option("--pp", min=1, help="Stages of a pipeline, likewise.")] = None,
    dp: Annotated[
        int | None, typer.Option("--dp", min=1, help="Data-parallel attention ranks, likewise.")
    ] = None,
    ep: Annotated[
        bool | None, typer.Option("--ep/--no-ep", help="Whole experts on each GPU, or parts of all.")
    ] = None,
    vllm: Annotated[
        str | None, typer.Option(help="Release of vLLM whose way of counting working memory applies.")
    ] = None,
    overrides: Overrides = [],  # noqa: B006 - typer only reads it
) -> None:
    """Print how the memory of one worker is divided, and how many sessions fit.

    With status 2, and why, if vLLM 0.28.0 would not start for want of KV memory.
    """
    from sim.base.errors import InputError
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.hardware.aic_blocks import estimate
    from sim.hardware.runtime_memory import ACCOUNTS, RELEASE
    from sim.scenario.load import load_scenario
    from sim.show.text.capacity import beside, by_other_releases, render
    from sim.simulation.startup import check_startup
    from sim.simulation.versions import versions_of

    sizes = zip(("tensor", "pipeline", "data", "expert"), (tp, pp, dp, ep), strict=True)
    given = {"model": model, "gpu": gpu} | {f"workers.{key}_parallel": size for key, size in sizes}
    chosen = [
        f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in given.items()
        if value is not None
    ]

    loaded = load_scenario(scenario, [*chosen, *overrides])
    result = loaded.capacity(vllm or RELEASE)
    limits = loaded.engine.max_num_batched_tokens, loaded.engine.max_num_seqs
    versions = {"engine": versions_of(loaded)["engine"]}
    also, screen = beside(result, *limits, estimate(result, *limits)), console(WIDTH)
    also += by_other_releases({name: loaded.capacity(name) for name in ACCOUNTS}, result, vllm or RELEASE)
    try:
        notes = check_startup(loaded, result)
    except InputError:
        render(result, screen, also, versions)
        raise
    render(result, screen, [*notes, *also], versions)
