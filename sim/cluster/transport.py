"""What transfers between workers go over."""

from typing import Protocol

from sim.links.network import LinkUse


class Transport(Protocol):
    """What transfers between workers go over: says when each is done. See `Network`."""

    def start(
        self, transfer_id: int, n_bytes: int, descriptors: int, source: int, target: int, *, now_s: float
    ) -> None:
        """Start a transfer between two workers."""

    def cancel(self, transfer_id: int, *, now_s: float) -> None:
        """Stop a transfer: nothing of it is counted but the time that links were busy with it."""

    def next_s(self) -> float:
        """Return when to call `finish` if nothing is started before; infinity if nothing is under way."""

    def finish(self, now_s: float) -> list[int]:
        """Return the transfers that ended since the last call."""

    def links(self, now_s: float) -> list[LinkUse]:
        """Return every link and what it carried until now."""
