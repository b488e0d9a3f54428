"""What a reader of a log did to what it read."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Account:
    """Counts by reason, for people."""

    notes: list[str] = field(default_factory=list)
    """What was read, counted and guessed, a sentence each."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Rows that are no call."""
    fixed: Counter[str] = field(default_factory=Counter)
    """Calls that were changed to be used, or whose values are a guess."""

    def drop(self, reason: str, n: int = 1) -> None:
        """Count rows that are no call."""
        if n:
            self.dropped[reason] += n

    def fix(self, what: str, n: int = 1) -> None:
        """Count calls that were changed, or guessed."""
        if n:
            self.fixed[what] += n

    def note(self, what: str, n: int) -> None:
        """Say how many there are of something, if there are any."""
        if n:
            self.notes.append(f"{what}: {n:,}")
