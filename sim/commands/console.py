"""Where commands print what is more than plain text."""

from rich.console import Console


def console(width: int) -> Console:
    """Return a console on stdout: a terminal keeps its own width, a pipe gets plain text of this one."""
    stdout = Console(highlight=False)
    if not stdout.is_terminal:
        stdout.width = width
    return stdout
