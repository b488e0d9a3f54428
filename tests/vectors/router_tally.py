"""What a replay of recordings of the router counts, and how it compares."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Row = dict[str, Any]
"""One line of a recording."""
Rows = Sequence[tuple[str, Row]]
"""The lines of a recording, each with its file and number."""
LOGIT_WITHIN = 1e-9
"""How close a cost must come that is recorded in full."""


class Tally:
    """What was compared, by kind, and what did not agree."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._counts: dict[str, list[int]] = {}
        self._decisions: list[str] = []

    def compared(self, kind: str, where: str, found: Iterable[str]) -> None:
        """Count something other than a decision, with what of it does not agree."""
        problems = [f"{where}: {problem}" for problem in found]
        counts = self._counts.setdefault(kind, [0, 0])
        counts[0] += not problems
        counts[1] += 1
        self.problems += problems

    def decided(self, kind: str, where: str, found: Iterable[str]) -> None:
        """Count a decision of the router."""
        if kind not in self._decisions:
            self._decisions.append(kind)
        self.compared(kind, where, found)

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind, and one for all decisions."""
        for kind, (agreeing, compared) in self._counts.items():
            yield f"{kind}: {agreeing} of {compared} agree"
        counts = [self._counts[kind] for kind in self._decisions]
        agreeing, compared = sum(count[0] for count in counts), sum(count[1] for count in counts)
        yield f"{agreeing} of {compared} decisions agree"


Replay = Callable[[Rows, Tally], None]
"""Replays one recording; raises InputError where it cannot be read."""


def unlike(name: str, recorded: object, ours: object) -> Iterator[str]:
    """Yield a line if two values that must be equal are not."""
    if recorded != ours:
        yield f"{name}: recorded {recorded}, ours {ours}"
