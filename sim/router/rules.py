"""Where releases of Dynamo's router differ, by the release: whoever acts otherwise asks here, once.

Source: the real wheels of 1.5.0 and 1.6.1 side by side. All else is equal in both; a user of the frontend who
changes nothing gets the same choices from either.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sim.router.overrides import Overrides

Version = Literal["1.5", "1.6"]
"""A release of Dynamo, its patches left out."""
WorkerType = Literal["aggregated", "decode", "prefill"]
"""What Dynamo takes a router's workers for. To its frontend all that decode are "decode" workers, those of an
aggregated pool too; only the SelectionService of 1.5 has "aggregated" ones."""


class Rules(NamedTuple):
    """What holds in one release."""

    version: Version
    overrides: frozenset[str]
    """Settings that a request may override; what else it carries is ignored."""
    admission_moves_cursor: bool
    """Whether a request that does not wait moves the deficit round robin on to the class after its own, whose
    deficit is 0 then."""
    service_worker_type: WorkerType
    """What the SelectionService takes its workers for; "decode" has the decode form where no prefill is
    tracked."""
    service_credits_lower_tiers: bool
    """Whether the cost of the SelectionService keeps the credit for host and disk where that for the device
    is 0. The booking takes them as cached in any case."""
    service_guesses: bool
    """Whether the SelectionService guesses from its reservations what workers hold, where it is told to."""
    service_affinity: bool
    """Whether the SelectionService keeps sessions with their workers, where it is told to."""
    logs_costs: bool
    """Whether the debug log has the cost of every candidate, not only the choice."""

    def counting(self, overrides: Overrides) -> Overrides:
        """Return what counts of a request's overrides."""
        given = overrides.model_dump(exclude_none=True)
        ignored = given.keys() - self.overrides
        return overrides.model_copy(update=dict.fromkeys(ignored)) if ignored else overrides


RULES: Mapping[Version, Rules] = {
    "1.5": Rules(
        version="1.5",
        overrides=frozenset(Overrides.model_fields),
        admission_moves_cursor=False,
        service_worker_type="aggregated",
        service_credits_lower_tiers=True,
        service_guesses=False,
        service_affinity=False,
        logs_costs=True,
    ),
    "1.6": Rules(
        version="1.6",
        overrides=frozenset({"track_prefill_tokens", "assume_kv_reuse"}),
        admission_moves_cursor=True,
        service_worker_type="decode",
        service_credits_lower_tiers=False,
        service_guesses=True,
        service_affinity=True,
        logs_costs=False,
    ),
}
