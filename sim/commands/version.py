"""`sim --version`: which version, and which of its two builds."""

import typer


def version(asked: bool) -> None:
    """Print the version, and whether the hot modules are compiled."""
    if not asked:
        return
    from importlib.metadata import version as installed
    from importlib.util import find_spec

    hot = find_spec("sim.kv.pool")
    interpreted = hot is not None and str(hot.origin).endswith(".py")
    typer.echo(f"sim {installed('kv-routing-sim')}, {'pure Python' if interpreted else 'compiled'}")
    raise typer.Exit
