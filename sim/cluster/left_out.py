"""Which requests of a run count in none of its numbers, settled when they are sent."""

from sim.results.phases import FIRST, WARM_UP
from sim.workload.settings import ReplaySettings


class LeftOut:
    """Requests served before the measured part, and the first of that; the others count.

    `phases` has those that do not, by index; it is read while it grows.
    """

    __slots__ = ("_first_s", "_n_first", "_n_sent", "begun_s", "counts_since_s", "measuring", "phases")

    def __init__(self, settings: ReplaySettings) -> None:
        self.phases: dict[int, str] = {}
        self.begun_s = 0.0
        """When the measured part began."""
        self.measuring = False
        self.counts_since_s: float | None = None
        """When the first request that counts was sent."""
        self._n_first = settings.warm_up_requests or 0
        self._first_s = settings.warm_up_s or 0.0
        self._n_sent = 0

    def begin(self, now_s: float) -> None:
        """The measured part begins."""
        self.measuring = True
        self.begun_s = now_s

    def sent(self, index: int, now_s: float) -> None:
        """A client sends a request."""
        if not self.measuring:
            self.phases[index] = WARM_UP
            return
        self._n_sent += 1
        if self._n_sent <= self._n_first or now_s - self.begun_s < self._first_s:
            self.phases[index] = FIRST
        elif self.counts_since_s is None:
            self.counts_since_s = now_s
