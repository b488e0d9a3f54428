"""That no worker serves a request."""

from typing import Final, NamedTuple


class Refused(NamedTuple):
    """No worker serves the request."""

    reason: str
    """As in the table of requests."""


NO_WORKER: Final = Refused("no_eligible_worker")
BUSY: Final = Refused("workers_busy")
"""All that might are over a busy threshold; the answer is 529,"""
BUSY_503: Final = Refused("workers_busy_503")
"""or 503, if that is set."""
SESSION_LIMIT: Final = Refused("session_limit")
"""It is of one session more than may be bound to workers."""
