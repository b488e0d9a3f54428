"""Where commands print what is more than plain text."""

import os

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line: what nobody reads any more is no failure of some run."""
        raise BrokenPipeError


def console(width: int) -> Console:
    """Return a console on stdout: a terminal keeps its own width, a pipe gets plain text of this one."""
    stdout = _Console(highlight=False)
    # FORCE_COLOR makes a terminal of a pipe, for its colours: that says nothing of its width.
    if not stdout.is_terminal or not (stdout.file.isatty() or "COLUMNS" in os.environ):
        stdout.width = width
    return stdout
