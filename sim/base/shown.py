"""Results that show themselves: text in a terminal, the same with colours in a notebook."""

from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH = 100
"""Columns of a terminal that text is made for."""
_HTML = '<pre style="font-family: Menlo, Consolas, monospace; line-height: 1.2">{code}</pre>'
"""Without a colour of its own, so that text is readable on a light page and on a dark one."""


class Shown:
    """What a subclass returns from `__rich__` is what its objects look like, wherever they are shown."""

    def __rich__(self) -> "RenderableType":
        """Return it ready to print on a console."""
        raise NotImplementedError

    def __repr__(self) -> str:
        text = StringIO()
        _print(self, text)
        return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))

    def _repr_html_(self) -> str:
        return _print(self, StringIO()).export_html(inline_styles=True, code_format=_HTML)


def _print(shown: Shown, file: StringIO) -> "Console":
    """Print on a console that writes to a file, and return it."""
    from rich.console import Console  # noqa: PLC0415 - slow to import

    # Without the last two, a notebook would get it a second time, and FORCE_COLOR would colour plain text.
    console = Console(
        file=file, width=WIDTH, record=True, highlight=False, force_jupyter=False, force_terminal=False
    )
    console.print(shown)
    return console
