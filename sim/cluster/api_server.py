"""The server in front of an engine, where vLLM 0.33 limits what is queued (`AsyncLLM.check_admission`).

Both limits are of the whole engine, all of its data-parallel ranks together. A request that they refuse never
reaches the scheduler; its answer is 503.
"""

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from sim.engine.active import ActiveRequest

QUEUED_REQS: Final = "max_num_queued_reqs"
QUEUED_TOKENS: Final = "max_num_queued_tokens"
QUEUE_LIMITS: Final = (QUEUED_REQS, QUEUED_TOKENS)
"""Why a request is refused; also the label of `vllm:admission_rejections`."""


class Serving(Protocol):
    """A data-parallel rank of the engine."""

    def unfinished(self) -> Collection[ActiveRequest]:
        """Return what was added and has not ended."""


class ApiServer:
    """Admits requests to the ranks of one engine. None: no limit."""

    __slots__ = ("_most_reqs", "_most_tokens", "ranks")

    def __init__(self, most_reqs: int | None, most_tokens: int | None) -> None:
        self.ranks: list[Serving] = []
        """Who shares the limits."""
        self._most_reqs = most_reqs
        self._most_tokens = most_tokens

    def refusal(self) -> str | None:
        """Return why one more request is refused now; None: it is admitted.

        Running requests count, and all of a prompt until its first token, whatever is cached or computed.
        """
        unfinished = [request for rank in self.ranks for request in rank.unfinished()]
        if self._most_reqs is not None and len(unfinished) + 1 > self._most_reqs:
            return QUEUED_REQS
        if self._most_tokens is not None and _queued_tokens(unfinished) >= self._most_tokens:
            return QUEUED_TOKENS
        return None


def _queued_tokens(requests: Sequence[ActiveRequest]) -> int:
    return sum([request.prompt_tokens + request.truncated for request in requests if not request.outputs])
