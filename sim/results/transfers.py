"""What went over the links of a cluster, by link, and what decode workers pulled in all."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim.base.sums import added


class LinkRow(NamedTuple):
    """One direction of one link; the columns of the table `links`."""

    kind: str
    owner: int
    direction: str
    bandwidth_bytes_per_s: float
    transfers: int
    n_bytes: int
    busy_s: float
    waiting_s: float
    utilisation: float
    tier: str | None = None


@dataclass(slots=True)
class PullCounts:
    """Pulls of decode workers, and what went wrong around them, in all."""

    n_bytes: int = 0
    leases_expired: int = 0
    """Prompts whose blocks a prefill worker let go before they were read."""
    nothing_left: int = 0
    """Prompts of which a prefill worker had nothing left to compute: one block of the hit was given up."""
    took_s: list[float] = field(default_factory=list)
    """How long each took, from posting the read to its end."""

    def add(self, n_bytes: int, took_s: float) -> None:
        """Count a pull that has ended."""
        self.n_bytes += n_bytes
        self.took_s.append(took_s)

    def summary(self) -> dict[str, Any]:
        """Return the numbers for the JSON summary."""
        n = len(self.took_s)
        return {
            "n": n,
            "n_bytes": self.n_bytes,
            "mean_s": added(self.took_s) / n if n else None,
            "max_s": max(self.took_s, default=None),
            "leases_expired": self.leases_expired,
            "nothing_left": self.nothing_left,
        }
