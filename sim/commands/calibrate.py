"""`sim calibrate`: coefficients from measurements."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from sim.commands import calibrate_requests, calibrate_steps

app = typer.Typer(no_args_is_help=True, help="Fit coefficients to measurements.")


@app.callback()
def about() -> None:
    """Fit coefficients to measurements."""


app.command()(calibrate_requests.requests)
app.command()(calibrate_steps.aic)
app.command()(calibrate_steps.forward)


@app.command()
def kernels(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help="CSV tables of kernel times, plain or gzipped: matrix products, prefill and decode "
            "attention, for hybrid models gated delta nets; their columns say which is which.",
        ),
    ],
    *,
    model: Annotated[str, typer.Option(help="A preset, or a Hugging Face config.json.")],
    gpu: Annotated[str, typer.Option(help="A preset: the GPU that the tables were measured on.")],
    vllm_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Rows to take; the newest version in each table if absent."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=2, metavar="N", help="Joint draws of the coefficients for the file.")
    ] = 100,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of coefficients to make (TOML), and a picture of its errors (.png)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
) -> None:
    """Add up kernels that were measured alone to the coefficients of a model on a GPU."""
    from sim.base.shown import WIDTH
    from sim.base.whole_file import to_utf8
    from sim.calibration.kernel_file import calibrate
    from sim.calibration.kernel_show import head_lines, render_kernels
    from sim.calibration.kernel_tables import read_tables
    from sim.calibration.pictures import plots_of_kernels
    from sim.commands.console import console
    from sim.commands.kept import check_picture, draw_beside, out_file
    from sim.hardware.coefficient_toml import to_toml
    from sim.hardware.model import GpuSettings, ModelSettings
    from sim.hardware.presets import resolve

    check_picture(out, force=force)
    with nullcontext() if out is None else out_file(out, force=force) as file:
        shape = ModelSettings.model_validate(resolve("models", model))
        measured_on = GpuSettings.model_validate(resolve("gpus", gpu))
        found = calibrate(read_tables(tables), shape, measured_on, draws, vllm_version)
        if file is not None:
            file.write_bytes(to_utf8(to_toml(found.content, head_lines(found))))
    console(WIDTH).print(render_kernels(found))
    draw_beside(out, lambda: plots_of_kernels(found))
