"""`sim trace`: what a trace is, parts of it, and files in other formats."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sim.commands import trace_import, trace_write
from sim.commands.options import Format
from sim.commands.trace_source import AsFormat, TraceKeys, TracePaths

if TYPE_CHECKING:
    from sim.traces.inspection import Inspection

app = typer.Typer(no_args_is_help=True, help="Look at traces, cut them down, write them in other formats.")


@app.callback()
def about() -> None:
    """Look at traces, cut them down, write them in other formats."""


@app.command()
def inspect(
    paths: TracePaths,
    *,
    as_format: AsFormat = "auto",
    overrides: TraceKeys = [],  # noqa: B006 - typer only reads it
    format: Annotated[Format, typer.Option(help="How to print what it is.")] = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to make: summary and three plots.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace earlier results.")] = False,
) -> None:
    """Print what a trace is: how much, how long, how far apart, how much of it an infinite cache hits."""
    from sim.base.shown import WIDTH
    from sim.commands.console import console
    from sim.commands.kept import out_folder
    from sim.commands.trace_source import look_at
    from sim.results.metrics import to_json
    from sim.show.text.inspection import render_inspection

    with out_folder(out, force=force) as kept:
        found = look_at(paths, as_format, overrides)
        kept.write(lambda folder: _write(found, folder))
    with kept.shown(""):
        if format is Format.JSON:
            typer.echo(to_json(found.to_dict()), nl=False)
        else:
            console(WIDTH).print(render_inspection(found))


def _write(found: "Inspection", folder: Path) -> None:
    from sim.base.folder import MARK
    from sim.base.whole_file import write_text
    from sim.results.metrics import to_json
    from sim.show.pictures.inspection import write_inspection_plots

    write_text(folder / MARK, to_json(found.to_dict()))
    write_inspection_plots(found, folder)


app.command()(trace_write.convert)
app.command()(trace_write.generate)
app.command()(trace_write.sample)
app.command("import")(trace_import.import_logs)
