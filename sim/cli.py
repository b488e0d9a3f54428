"""The command `sim`: its subcommands, and what their errors look like."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sim.commands import (
    calibrate,
    capacity,
    compare,
    init,
    measured,
    run,
    scenarios,
    schema,
    validate,
    version,
)
from sim.errors import InputError


class Commands(TyperGroup):
    """Makes bad input a message and status 2, Ctrl-C status 130; any other error is a bug."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (
    run.run,
    compare.compare,
    validate.validate,
    capacity.capacity,
    schema.schema,
    scenarios.scenarios,
    init.init,
):
    app.command()(command)
app.add_typer(measured.app, name="measured")
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
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
