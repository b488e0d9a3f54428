"""`sim init`: a scenario that mirrors a running cluster."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer


def init(
    *,
    measured: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A recorded run: see sim measured inspect.")
    ] = None,
    metrics: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Prometheus text of an engine or the frontend. Repeatable."),
    ] = [],  # noqa: B006 - typer only reads it
    engines: Annotated[
        list[str],
        typer.Option("--engine", metavar="COMMAND", help="Command line of an engine; once for each engine."),
    ] = [],  # noqa: B006
    frontend: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Command line of Dynamo's frontend.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A preset, or a Hugging Face config.json.")] = None,
    gpu: Annotated[str | None, typer.Option(help="A preset.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML file to make; printed if absent.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file.")] = False,
) -> None:
    """Write the scenario that mirrors a running cluster, as far as its files and command lines tell."""
    from sim.base.errors import InputError
    from sim.base.whole_file import to_utf8
    from sim.commands.kept import out_file
    from sim.measured.commands import Commands
    from sim.measured.formats.flags import parse_command
    from sim.measured.mirror.cluster import MirroredCluster, mirror
    from sim.measured.mirror.toml import check, examples, remarks, to_toml
    from sim.measured.run import load_run
    from sim.measured.windows import read_windows

    if not (measured or metrics or engines or frontend):
        raise InputError("nothing to mirror: give --measured, --metrics, --engine or --frontend")
    with nullcontext() if out is None else out_file(out, force=force) as file:
        folder = None if out is None else out.parent
        run = load_run(measured) if measured else None
        cluster = MirroredCluster(
            run,
            Commands(tuple(map(parse_command, engines)), parse_command(frontend) if frontend else None),
            read_windows(metrics),
            model,
            gpu,
        )
        found = mirror(cluster, folder)
        text = to_toml(found, f"Mirror of {run.title}" if run else "Mirror of a cluster")
        check(text, folder)
        if file is not None:
            file.write_bytes(to_utf8(text))
    for line in remarks(found):
        typer.echo(line, err=True)
    if out is None:
        typer.echo(text, nl=False)
        return
    open_keys = ", ".join(".".join(path) for path in examples(found))
    typer.echo(f"{out}{f': not told, so examples stand there: {open_keys}' if open_keys else ''}")
