"""How booked prompt tokens fade over the time that they should take (Dynamo 1.5.0, `prefill_load_model`).

Of a rank's prompts under way the oldest is computed now: since it became the oldest, tokens are done at the
pace of its own in the time estimated for it. If that is over and no first token has come, those behind it are
taken to be computed at the same pace. Source: the real KvRouter of 1.5.0 with AIConfigurator's estimates,
whose loads were read every 0.25 s: 60,000 tokens, then 20,000 and 300, at 11.5, 2.5 and some 0.05 s.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RECHECK_S: Final = 0.1
"""Who waits at a router whose loads fade is looked at so often, counted from its start: in 7 of 7 releases
without any event the router of Dynamo 1.5.0 let them go 0.6 to 1.6 ms after a tenth of a second."""
_NS_PER_S: Final = 1e9


class FadingPrefill:
    """The prompts under way of every rank, oldest first."""

    def __init__(self, ranks: int) -> None:
        self._prompts: list[dict[object, tuple[int, int]]] = [{} for _ in range(ranks)]
        """Of each rank, by booking: tokens, and the nanoseconds that they should take."""
        self._since_s = [0.0] * ranks
        """When the oldest one became that."""

    def book(self, booking: object, rank: int, tokens: int, duration_s: float, now_s: float) -> None:
        """A prompt is booked that should take so long; Dynamo counts in nanoseconds."""
        if not self._prompts[rank]:
            self._since_s[rank] = now_s
        self._prompts[rank][booking] = tokens, round(duration_s * _NS_PER_S)

    def end(self, booking: object, rank: int, now_s: float) -> None:
        """It is under way no more; what it left to those behind it they have back."""
        prompts = self._prompts[rank]
        if booking not in prompts:
            return
        was_oldest = next(iter(prompts)) is booking
        del prompts[booking]
        if was_oldest:
            self._since_s[rank] = now_s

    def left(self, booked_tokens: NDArray[np.int64], now_s: float) -> NDArray[np.int64]:
        """Return what is left by now of the tokens booked on each rank."""
        left = booked_tokens.copy()
        for rank, prompts in enumerate(self._prompts):
            if prompts:
                tokens, duration_ns = next(iter(prompts.values()))
                done = tokens
                if duration_ns:
                    elapsed_ns = round((now_s - self._since_s[rank]) * _NS_PER_S)
                    done = tokens * elapsed_ns // duration_ns
                left[rank] = max(int(booked_tokens[rank]) - done, 0)
        return left
