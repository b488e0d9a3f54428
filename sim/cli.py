"""The command `sim`: its subcommands, and what their errors look like."""

import os
import shlex
import signal
import sys
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from sim.base.disk_room import room_for
from sim.base.errors import InputError, InvariantError, KeptElsewhereError, Stopped, escaped
from sim.commands import (
    calibrate,
    calibrate_published,
    capacity,
    compare,
    explain,
    init,
    measured,
    published,
    report,
    run,
    scenarios,
    schema,
    size,
    sweep,
    trace,
    tune,
    validate,
    version,
)

WRONG_INPUT, KEPT_ELSEWHERE, INVARIANT, STOPPED, NOBODY_READS = 2, 4, 5, 130, 141
"""Exit statuses; docs/what-is-kept.md lists all."""

_CALL = "sim.call"
"""Where a context keeps the arguments as they were typed."""
_FAULT = """\
This is a fault of the simulator, not of the scenario: please report it, with scenario and trace.
To see it again, equal settings and seed give equal runs: sim {command}"""


class Commands(TyperGroup):
    """Makes bad input, a full disk, a failed check and Ctrl-C a message and a status.

    Any other error is a bug.
    """

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return a context that knows the whole call, for messages that tell how to repeat it."""
        call = shlex.join(args)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[_CALL] = call
        return context

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word, or of two: `validate published` has options of its own.

        The name of a shipped published cluster alone, as in `validate talk`, stands for that with the name.
        """
        if args[0] in ("validate", "calibrate") and len(args) > 1:
            from sim.base.shipped import published_names  # noqa: PLC0415 - loads pydantic

            if args[1] in published_names():
                args = [args[0], "published", *args[1:]]
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
            typer.echo(f"Error: {escaped(str(error))}", err=True)
            _drop_output()
            status = KEPT_ELSEWHERE if isinstance(error, KeptElsewhereError) else WRONG_INPUT
            raise typer.Exit(status) from error
        except InvariantError as error:
            typer.echo(f"Error: {error}\n{_FAULT.format(command=ctx.meta[_CALL])}", err=True)
            raise typer.Exit(INVARIANT) from error
        except KeyboardInterrupt as error:
            typer.echo(f"Stopped: {error}" if str(error) else "Stopped", err=True)
            if isinstance(error, Stopped) and error.again:
                typer.echo(f"{error.again}: sim {ctx.meta[_CALL]}", err=True)
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
app.command("validate published")(published.validate)
app.add_typer(measured.app, name="measured")
app.add_typer(trace.app, name="trace")
calibrate.app.command("published")(calibrate_published.calibrate)
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
    """Run the command line; what it prints is UTF-8 in every locale, so that equal runs print equal bytes."""
    signal.signal(signal.SIGTERM, _stop)
    sys.stdout = sys.stdout or _nowhere()  # None where a shell closed it
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    app()


def _stop(number: int, frame: object) -> NoReturn:
    """Take SIGTERM for Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
