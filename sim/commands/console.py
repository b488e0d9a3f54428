"""Where commands print what is more than plain text."""

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line: what nobody reads any more is no failure of some run."""
        raise BrokenPipeError


def console(width: int) -> Console:
    """Return a console on stdout: a terminal keeps its own width, a pipe gets plain text of this one."""
    stdout = _Console(highlight=False)
    if not stdout.is_terminal:
        stdout.width = width
    return stdout
