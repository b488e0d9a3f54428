"""Where a worker sends what others must know: the way there takes time, the sending does not."""

from typing import Protocol

from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.kv.events import KvEvent


class EventOutbox(Protocol):
    """Where KV events are sent."""

    event_delay_s: float
    """How long they are on their way."""

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """KV events that are published with the output of this time."""


class Outbox(EventOutbox, Protocol):
    """Where all of it is sent."""

    def output(self, worker: int, output: StepOutput) -> None:
        """Tokens and ends of one step, whose output is processed now."""

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """A request will never be served: it has outgrown the pool, or the engine is gone."""

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """Reads from other workers that a step posts now."""

    def died(self, worker: int) -> None:
        """The engine is no more: its requests were given up, and what it held for others is lost."""
