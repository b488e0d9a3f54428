"""Requests that the measured cluster served and a replay did not: refused, or left unfinished.

Sums of such a replay are over fewer requests than were measured: they are not compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.base.words import exactly, plural
from sim.validation.replay.recording import Recording

ROWS = 8
"""Rows that are named in a sentence; JSON has them all."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Those of one replay, or of the seed that refused most."""

    of: int
    """Requests that completed in the recording."""
    rows: tuple[int, ...]
    """Their places in the client's input, from 0."""
    by_reason: Mapping[str, int]
    """How many, by reason; "unfinished" for those that never ended."""

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __str__(self) -> str:
        n = len(self.rows)
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.by_reason.items())
        rows = ", ".join(map(str, self.rows[:ROWS])) + (", ..." if n > ROWS else "")
        return (
            f"{n} of {exactly(self.of, 'request')} that the measured cluster served "
            f"{'is' if n == 1 else 'are'} refused here ({reasons}; {plural(n, 'row')} {rows}): predictions "
            "are of the others, so they are not compared"
        )


def refused(recorded: Recording, rows: Sequence[Mapping[str, Any]]) -> Refused:
    """Return what a replay did not serve; `rows`: its requests by index."""
    lost = unserved(recorded, rows)
    reasons = Counter(
        "unfinished" if rows[index]["status"] == "unfinished" else rows[index]["reason"] for index in lost
    )
    found = tuple(sorted(recorded.requests[index].row for index in lost))
    return Refused(len(recorded.completed), found, dict(reasons.most_common()))


def unserved(recorded: Recording, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the requests that completed in the recording and not in a replay; `rows`: its own by index."""
    return [index for index in recorded.completed if rows[index]["status"] != "completed"]


def most(found: Sequence[Refused]) -> Refused:
    """Return those of the seed that refused most."""
    return max(found, key=lambda one: len(one.rows))
