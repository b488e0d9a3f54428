"""`sim trace import`: logs that agents leave, as a trace of lengths, times and identities, never of text."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.trace_source import TraceKeys
from sim.commands.trace_write import Force, To


def import_logs(
    log: Annotated[str, typer.Argument(metavar="LOG", help="What wrote it: claude-code, or another log.")],
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", help="Its folders or files; where it writes to, if absent."),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to make; LOG.jsonl in this folder if absent."),
    ] = None,
    to: To = "agentic_mooncake",
    overrides: TraceKeys = [],  # noqa: B006 - typer only reads it
    force: Force = False,
) -> None:
    """Write what an agent logged as a trace: lengths, times and what prompts share, without any text."""
    from sim.commands.trace_source import load
    from sim.commands.trace_write import write
    from sim.traces.logs import folders_of, without_folders
    from sim.traces.writers import writer

    writer(to)
    paths = folders_of(log, folders or [])
    typer.echo(f"Reads {', '.join(map(str, paths))}", err=True)
    trace = without_folders(load(paths, log, overrides))
    write(trace, out or Path(f"{log}.jsonl"), to, force=force, option="--out")
