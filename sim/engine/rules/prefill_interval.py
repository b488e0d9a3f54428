"""Whether `prefill_schedule_interval` acts.

In 0.28.0 it does so only for data-parallel engines in lock step. In 0.33.0 an engine by itself keeps its own
cadence: after a step that carried prefill, prefill is held until so many steps have been computed, while
others decode. An engine whose release step could not take all that wait holds nothing.
"""

from collections.abc import Iterable

from sim.engine.active import ActiveRequest
from sim.engine.rule_set import Version
from sim.engine.settings import EngineSettings


class PrefillInterval:
    """The cadence of one engine. `steps`: from one step with prefill to the next, at least 2."""

    __slots__ = ("_capacity_bound", "_deferred", "_executed", "_last_prefill", "_steps", "carried", "held")

    def __init__(self, steps: int) -> None:
        self.held = False
        """Whether prefill is held in the step that is being planned."""
        self.carried = False
        """Whether that step carries prefill."""
        self._steps = steps
        self._executed = 0
        self._last_prefill = -steps
        self._capacity_bound = False
        self._deferred: set[int] = set()
        """Requests that some scan passed over, and that have not run since."""

    def begin(self, running: Iterable[ActiveRequest]) -> None:
        """A step is planned with these running."""
        self.carried = False
        self.held = (
            not self._capacity_bound
            and self._executed + 1 - self._last_prefill < self._steps
            and not all(request.prefilling for request in running)
        )

    def pass_over(self, requests: Iterable[ActiveRequest]) -> None:
        """These wait for a reason of their own."""
        self._deferred.update([request.request_id for request in requests])

    def forget(self, request: ActiveRequest) -> None:
        """It runs, or has ended."""
        self._deferred.discard(request.request_id)

    def scanned(self, waiting: int) -> None:
        """The queues were walked, and so many are left in them."""
        if not self.held:
            self._capacity_bound = waiting > len(self._deferred)

    def end(self, tokens: int) -> None:
        """A step with so many tokens has been planned."""
        if tokens > 0:
            self._executed += 1
        if self.carried:
            self._last_prefill = self._executed

    def advance(self, steps: int) -> None:
        """So many steps of nothing but decoding were planned, with nobody waiting."""
        self._executed += steps


def prefill_interval(version: Version, settings: EngineSettings) -> PrefillInterval | None:
    """Return the rule of a release; None: nothing is held."""
    steps = settings.prefill_schedule_interval
    return PrefillInterval(steps) if version != "0.28" and steps > 1 else None
