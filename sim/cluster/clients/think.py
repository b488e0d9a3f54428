"""How long a client idles before a request: recorded think times and gaps, stretched and cut."""

from math import inf

from sim.base import words
from sim.workload.settings import ReplaySettings


class Think:
    """Times between the end of what a request waits for and its leaving; counts what it cuts."""

    __slots__ = ("_cut_s", "_factor", "_longest_s", "_n_cut", "cuts")

    def __init__(self, settings: ReplaySettings) -> None:
        self._factor = settings.think_factor if settings.think_factor is not None else 1.0
        self._longest_s = settings.max_think_s if settings.max_think_s is not None else inf
        self.cuts = settings.max_think_s is not None
        """Whether there is a longest."""
        self._n_cut = 0
        self._cut_s = 0.0

    def of(self, delay_s: float) -> float:
        """Return how long to idle for a recorded think time."""
        return self.cut(delay_s * self._factor)

    def cut(self, idle_s: float) -> float:
        """Return how long to idle at most."""
        if idle_s <= self._longest_s:
            return idle_s
        self._n_cut += 1
        self._cut_s += idle_s - self._longest_s
        return self._longest_s

    @property
    def notes(self) -> list[str]:
        """What was done to the times."""
        notes = [] if self._factor == 1 else [f"think times of the trace multiplied by {self._factor:g}"]
        if self._n_cut:
            notes.append(
                f"think times cut to replay.max_think_s = {self._longest_s:g} s: {self._n_cut:,}, by "
                f"{words.seconds(self._cut_s)} together"
            )
        return notes
