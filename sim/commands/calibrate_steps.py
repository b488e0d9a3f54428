"""`sim calibrate aic` and `sim calibrate forward`: the step-time law fitted to whole steps."""

from pathlib import Path
from typing import Annotated

import typer

Tensor = Annotated[int, typer.Option("--tp", min=1, metavar="N", help="Tensor-parallel GPUs.")]
Pipeline = Annotated[int, typer.Option("--pp", min=1, metavar="N", help="Pipeline-parallel stages.")]
Data = Annotated[int, typer.Option("--dp", min=1, metavar="N", help="Data-parallel attention ranks.")]
Expert = Annotated[bool, typer.Option("--ep", help="Whole experts on each GPU, instead of cut ones.")]
Force = Annotated[bool, typer.Option("--force", help="Let --out replace a file.")]


def aic(
    model: Annotated[
        str,
        typer.Argument(help="A preset, a name on Hugging Face such as Qwen/Qwen3-32B, or a config.json."),
    ],
    *,
    gpu: Annotated[str, typer.Option(help="A GPU preset.")],
    tp: Tensor = 1,
    pp: Pipeline = 1,
    dp: Data = 1,
    ep: Expert = False,
    gemm: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Of the matrices: bfloat16, fp8, fp8_block, nvfp4.")
    ] = None,
    moe: Annotated[str | None, typer.Option(metavar="FORMAT", help="Of the experts, likewise.")] = None,
    kv: Annotated[str | None, typer.Option(metavar="FORMAT", help="Of the cache: bfloat16 or fp8.")] = None,
    name: Annotated[str | None, typer.Option(help="The model's name for the file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of coefficients to make (TOML), and a picture of its errors (.png)."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Read step times from the kernel tables of NVIDIA's AIConfigurator (extra aic)."""
    from contextlib import nullcontext

    from sim.base.shown import WIDTH
    from sim.base.whole_file import to_utf8
    from sim.calibration.aic import calibrate, engine_of, head_lines
    from sim.calibration.coefficients_show import render
    from sim.calibration.pictures import plots_of_steps
    from sim.commands.console import console
    from sim.commands.kept import check_picture, draw_beside, out_file
    from sim.hardware.aic.file import beside_tables
    from sim.hardware.coefficient_toml import to_toml
    from sim.hardware.parallel import Parallel

    check_picture(out, force=force)
    with nullcontext() if out is None else out_file(out, force=force) as file:
        engine = engine_of(model, gpu, Parallel(tp, pp, dp, ep), {"gemm": gemm, "moe": moe, "kv": kv})
        found = calibrate(engine, model, gpu, name)
        if file is not None:
            file.write_bytes(to_utf8(to_toml(found, head_lines(found))))
    console(WIDTH).print(render(found))
    draw_beside(
        out,
        lambda: plots_of_steps(found, beside_tables(found, engine), "steps between those it is fitted to"),
    )


def forward(
    file: Annotated[
        Path | None, typer.Argument(help="What vllm bench forward --output-json wrote (vLLM 0.33).")
    ] = None,
    *,
    model: Annotated[
        str | None, typer.Option(help="The model that was timed: a preset, or any name.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="The GPU that it was timed on.")] = None,
    tp: Tensor = 1,
    pp: Pipeline = 1,
    dp: Data = 1,
    ep: Expert = False,
    cases: Annotated[
        bool, typer.Option("--cases", help="Print the command that times what a fit needs, and stop.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of coefficients to make (TOML), and a picture of its errors (.png)."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Fit step times to batches that vllm bench forward timed: about two minutes of one GPU."""
    from contextlib import nullcontext

    from sim.base.errors import InputError
    from sim.base.shown import WIDTH
    from sim.base.whole_file import to_utf8
    from sim.calibration.coefficients_show import render
    from sim.calibration.forward import calibrate, command, head_lines
    from sim.calibration.forward_fit import compared
    from sim.calibration.pictures import plots_of_steps
    from sim.commands.console import console
    from sim.commands.kept import check_picture, draw_beside, out_file
    from sim.hardware.coefficient_toml import to_toml
    from sim.hardware.parallel import Parallel
    from sim.measured.formats.forward_json import read_forward

    parallel = Parallel(tp, pp, dp, ep)
    if cases:
        typer.echo(command(model or "MODEL", parallel))
        return
    if file is None or model is None or gpu is None:
        missing = {"FILE": file, "--model": model, "--gpu": gpu}
        absent = [name for name, value in missing.items() if value is None]
        raise InputError(f"{', '.join(absent)}: missing; --cases prints what to run")
    check_picture(out, force=force)
    with nullcontext() if out is None else out_file(out, force=force) as built:
        measured = read_forward(file)
        found = calibrate(measured, model, gpu, parallel)
        if built is not None:
            built.write_bytes(to_utf8(to_toml(found, head_lines(found))))
    console(WIDTH).print(render(found))
    draw_beside(
        out, lambda: plots_of_steps(found, compared(found.law, measured.cases), "batches it is fitted to")
    )
