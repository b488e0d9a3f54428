"""A service level objective: what a request must keep to count as good."""

from typing import Self

from pydantic import model_validator

from sim.base.settings import Settings
from sim.base.units import Seconds


class Slo(Settings):
    """Latency limits; a good request keeps all that are given (`--goodput` of `vllm bench serve`)."""

    ttft_s: Seconds | None = None
    """Time to first token."""
    tpot_s: Seconds | None = None
    """Mean time of an output token after the first. A request with one token keeps it."""
    e2e_s: Seconds | None = None
    """Time to last token."""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.limits():
            raise ValueError(f"an SLO needs at least one of {', '.join(type(self).model_fields)}")
        return self

    def limits(self) -> dict[str, float]:
        """Return the given limits in seconds, by the names of the latencies."""
        return self.model_dump(exclude_none=True)
