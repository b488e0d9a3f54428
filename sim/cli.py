"""The command `sim`: its subcommands, and what their errors look like."""

import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from sim.commands import (
    calibrate,
    capacity,
    compare,
    explain,
    init,
    measured,
    report,
    run,
    scenarios,
    schema,
    size,
    sweep,
    talk,
    talk_fit,
    tune,
    validate,
    version,
)
from sim.errors import InputError, KeptElsewhereError
from sim.room import room_for

WRONG_INPUT, KEPT_ELSEWHERE, STOPPED, NOBODY_READS = 2, 4, 130, 141
"""Exit statuses; README lists all."""


class Commands(TyperGroup):
    """Makes bad input, a full disk and Ctrl-C a message and a status; any other error is a bug."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word, or of two: `validate talk` has options of its own."""
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        try:
            with room_for("standard output"):
                try:
                    return super().invoke(ctx)
                finally:
                    sys.stdout.flush()  # while what goes wrong can still be told
        except InputError as error:
            typer.echo(f"Error: {error}", err=True)
            _drop_output()
            status = KEPT_ELSEWHERE if isinstance(error, KeptElsewhereError) else WRONG_INPUT
            raise typer.Exit(status) from error
        except KeyboardInterrupt as error:
            typer.echo(f"Stopped: {error}" if str(error) else "Stopped", err=True)
            raise typer.Exit(STOPPED) from error
        except BrokenPipeError as error:
            _drop_output()
            raise typer.Exit(NOBODY_READS) from error


def _drop_output() -> None:
    """Let nothing that could not be printed be tried again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = _nowhere()


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (
    run.run,
    compare.compare,
    sweep.sweep,
    tune.tune,
    size.size,
    explain.explain,
    report.report,
    validate.validate,
    capacity.capacity,
    schema.schema,
    scenarios.scenarios,
    init.init,
):
    app.command()(command)
app.command("validate talk")(talk.talk)
app.add_typer(measured.app, name="measured")
calibrate.app.command("talk")(talk_fit.fit_talk)
app.add_typer(calibrate.app, name="calibrate")


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=version.version, is_eager=True, help="Print version and build, and exit."
        ),
    ] = False,
) -> None:
    """Simulate KV-aware routing for LLM serving: vLLM 0.28.0 workers behind NVIDIA Dynamo 1.5.0's router."""


def _nowhere() -> TextIO:
    return open(os.devnull, "w")


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _stop)
    sys.stdout = sys.stdout or _nowhere()  # None where a shell closed it
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


def _stop(number: int, frame: object) -> NoReturn:
    """Take SIGTERM for Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
