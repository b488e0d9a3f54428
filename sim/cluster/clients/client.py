"""What every client does."""

from collections.abc import Callable, Sequence
from typing import Protocol

from sim.workload.request import Request

Act = Callable[[Request], None]


class Client(Protocol):
    """Sends requests of a trace; has to be told when one has ended."""

    @property
    def waiting(self) -> int:
        """Requests that are due and wait for one of a limited number of slots."""

    @property
    def total(self) -> int:
        """Requests that it has sent and will send, as far as it knows by now."""

    @property
    def unsent(self) -> Sequence[Request]:
        """Requests, sent or not, that ought to have been sent when nothing can happen any more."""

    @property
    def notes(self) -> list[str]:
        """What it did to the trace, or could not do with it, a sentence each."""

    def start(self) -> None:
        """Schedule what waits for no answer. Time 0 of the trace is now."""

    def ended(self, request: Request) -> None:
        """Note that a request was answered, rejected, failed, or given up."""
