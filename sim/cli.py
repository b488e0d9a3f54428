"""The command `sim`: its subcommands, and what their errors look like."""

import shlex
import sys
from io import TextIOWrapper
from typing import Annotated, Any

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
from sim.errors import InputError, InvariantError, escaped
from sim.folder import room_for

INVARIANT = 4
"""Exit status of a run that `--check` has found a fault in."""

_FAULT = """\
This is a fault of the simulator, not of the scenario: please report it, with scenario and trace.
To see it again, equal settings and seed give equal runs: sim {command}"""


class Commands(TyperGroup):
    """Makes bad input a message and status 2, a failed check one and status 4, Ctrl-C status 130.

    Any other error is a bug.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word, or of two: `validate talk` has options of its own."""
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        try:
            with room_for("standard output"):
                return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"Error: {escaped(str(error))}", err=True)
            raise typer.Exit(2) from error
        except InvariantError as error:
            typer.echo(f"Error: {error}\n{_FAULT.format(command=shlex.join(sys.argv[1:]))}", err=True)
            raise typer.Exit(INVARIANT) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error


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


def main() -> None:
    """Run the command line; what it prints is UTF-8 in every locale, so that equal runs print equal bytes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    app()


if __name__ == "__main__":
    main()
