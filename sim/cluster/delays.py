"""How long things take on their way between front door, engines and router: by a delay, or as recorded."""

from typing import Protocol

from sim.engine.active import ActiveRequest


class Delays(Protocol):
    """Seconds on the way: to the worker, and of KV events to the index."""

    @property
    def dispatch_s(self) -> float:
        """From the routing choice to the worker's queue."""

    @property
    def event_delay_s(self) -> float:
        """From a worker's output to the router's index."""


class Answers(Protocol):
    """When answers are seen at the front door, where something else than a delay decides it: a recording."""

    def seen_s(self, request: ActiveRequest, *, ended: bool) -> float | None:
        """Return when the first token of a request is seen, or the last; None: after the usual delay."""


class Arrivals(Protocol):
    """When requests come to engines, and news to the router, where no delay decides it but a recording."""

    def queued(self, request: int, *, decode: bool) -> tuple[float, int] | None:
        """Return when a request comes, and its place among those that come then; None: the usual delay.

        `decode`: to the engine that was chosen second.
        """

    def heard_s(self, worker: int, output_s: float) -> float | None:
        """Return when the router's index hears what an output published; None: after the usual delay.

        What a worker published before is never heard after.
        """
