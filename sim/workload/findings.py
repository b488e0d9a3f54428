"""What was found in reading a trace: sentences, and how many rows were dropped or changed, by reason."""

from collections import Counter


class Findings:
    """Collected while a trace is read."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.dropped: Counter[str] = Counter()
        self.fixed: Counter[str] = Counter()

    def drop(self, what: str, n: int) -> None:
        """Count rows that become no request; 0 is not said."""
        if n:
            self.dropped[what] += n
            self.notes.append(f"{what}: {n}")

    def fix(self, what: str, n: int) -> None:
        """Count rows that were changed to be used; 0 is not said."""
        if n:
            self.fixed[what] += n
            self.notes.append(f"{what}: {n}")

    def say(self, what: str, n: int) -> None:
        """Say how many there are of something that is neither; 0 is not said."""
        if n:
            self.notes.append(f"{what}: {n:,}")
