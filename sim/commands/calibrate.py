"""`sim calibrate`: coefficients from what was measured."""

import typer

from sim.commands import calibrate_requests

app = typer.Typer(no_args_is_help=True, help="Fit coefficients to what was measured.")
app.command()(calibrate_requests.requests)
