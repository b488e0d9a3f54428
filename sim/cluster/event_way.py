"""How KV events come to one front end: each message with a delay of its own, or not at all.

Dynamo 1.5.0 numbers the events of a worker. A router that sees a gap asks the worker's local indexer for what
it missed ("KV Event Replay", Dynamo's documentation): events that were lost come with the next that arrives.
"""

from typing import NamedTuple

from sim.base.uniform import uniform
from sim.kv.events import KvEvent
from sim.scenario.sections import FrontendSettings


class Arrived(NamedTuple):
    """A message that comes to a front end."""

    time_s: float
    events: list[KvEvent]


class EventWay:
    """From all workers of a pool to one of several front ends; messages of a worker stay in order.

    Args:
        settings: of the front door.
        pool: its name.
        front_end: which one.
        seed: of the run.
    """

    def __init__(self, settings: FrontendSettings, pool: str, front_end: int, seed: int) -> None:
        self._jitter_s = settings.event_jitter_s
        self._loss = settings.event_loss
        self._recovered = settings.event_loss_recovered
        self._name = f"{pool} KV events to front end {front_end}"
        self._seed = seed
        self._missed: dict[int, list[KvEvent]] = {}
        """By rank: what was lost and can be asked for."""
        self._last_s: dict[int, float] = {}
        """When the newest message of a rank arrives."""

    def arrival(self, rank: int, events: list[KvEvent], output_s: float, usual_s: float) -> Arrived | None:
        """Return what comes of the events of an output, and when; usually at `usual_s`. None: lost."""
        message = f"{self._name} at {output_s!r}"
        if self._loss and uniform(self._seed, message, rank, 0) < self._loss:
            if self._recovered:
                self._missed.setdefault(rank, []).extend(events)
            return None
        late_s = self._jitter_s * uniform(self._seed, message, rank, 1) if self._jitter_s else 0.0
        time_s = self._last_s[rank] = max(usual_s + late_s, self._last_s.get(rank, 0.0))
        return Arrived(time_s, self.recovered(rank) + events)

    def recovered(self, rank: int) -> list[KvEvent]:
        """Return what was missed of a rank, which is asked for it now."""
        return self._missed.pop(rank, [])
