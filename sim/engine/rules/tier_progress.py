"""How far a request counts as stored in the first tier.

0.28.0 never goes back, and stores all that a request knew when it ended. 0.33.0 begins anew with every
look-up, so that a request that was preempted offers its blocks again, and leaves out the last token of one
that ended: its slot was never committed. Drafts can no longer be taken back then either.
"""

from sim.engine.active import ActiveRequest
from sim.engine.offload_state import OffloadState
from sim.engine.rule_set import Version


class Progress:
    """vLLM 0.28.0."""

    __slots__ = ()

    def looked_up(self, tracked: OffloadState) -> None:
        """A request is looked up once more."""

    def of_ended(self, request: ActiveRequest) -> int:
        """Return how many tokens of a request that ended may be stored."""
        return request.num_tokens

    def leaves_last(self, *, ended: bool) -> bool:
        """Whether the last full block of an answer waits, because drafts that are rejected write to it."""
        return True


class ProgressAnew(Progress):
    """vLLM 0.33.0."""

    __slots__ = ()

    def looked_up(self, tracked: OffloadState) -> None:
        """A request is looked up once more."""
        tracked.considered = [0] * len(tracked.considered)

    def of_ended(self, request: ActiveRequest) -> int:
        """Return how many tokens of a request that ended may be stored."""
        return max(request.prompt_tokens, request.num_tokens - 1)

    def leaves_last(self, *, ended: bool) -> bool:
        """Whether the last full block of an answer waits, because drafts that are rejected write to it."""
        return not ended


def tier_progress(version: Version) -> Progress:
    """Return the rule of a release."""
    return Progress() if version == "0.28" else ProgressAnew()
