"""Sentences of a page: no line of them ends between a number and its unit."""

import re
from typing import Any

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|(?:pp|[mun]?s|min|[hd]|[KMGT]?i?B)\b)")
_HELD = "\ue000"
"""Stands for such a blank while lines are made: a character that no text has and no line breaks at."""


class Prose(Text):
    """Text whose numbers stay beside their units wherever it goes over several lines.

    To stand in tables and groups: what is printed by itself `rich` joins to plain text.
    """

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return its lines."""
        held = self.copy()
        held.plain = _BEFORE_UNIT.sub(_HELD, self.plain)
        lines = held.wrap(console, width, **options)
        for line in lines:
            line.plain = line.plain.replace(_HELD, " ")
        return lines
