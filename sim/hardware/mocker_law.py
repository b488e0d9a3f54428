"""The step times of Dynamo's mocker: preset `dynamo-mocker`, for runs beside Dynamo's own replay.

A step takes the time of its prefill, and after that, if it gives any request a token, the time of a decode:

    prefill_ms = 4.209989e-7 n^2 + 1.518344e-2 n + 16.50142    n prompt tokens computed now
    decode_ms  = -25.74 u^2 + 54.01 u + 5.74                   u share of the KV pool in use

A prefill worker gives out no tokens and so has no decode time; prompts cost nothing on a decode worker. How
long prefixes are, how many requests decode, which model and which GPU: nothing of that counts. Source: the
default timing of the mocker of NVIDIA Dynamo 1.4.2.
"""

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

Stage = Literal["aggregated", "prefill", "decode"]

SUMMARY = (
    "the polynomial of NVIDIA Dynamo 1.4.2's mocker, no measurement of any model or GPU, "
    "for comparison with its replay only"
)
"""What times by this law rest on: belongs beside every result."""


class MockerLaw:
    """The mocker's times for one worker.

    In use are the tokens of the step's requests; the mocker rounds each up to blocks and counts a block that
    several have in common once.
    """

    __slots__ = ("_max_batched_tokens", "_pool_tokens", "_stage")

    def __init__(self, stage: Stage, pool_tokens: int, max_batched_tokens: int) -> None:
        """Make the law of a worker with a KV pool of `pool_tokens` and steps of `max_batched_tokens`."""
        self._stage = stage
        self._pool_tokens = pool_tokens
        self._max_batched_tokens = max_batched_tokens

    def step_s(
        self, prefill: Sequence[tuple[int, int]], decode_batch: int, decode_context_tokens: int
    ) -> float:
        """Return the time of one step in seconds, as `StepTime` has it; 0 for a step without tokens."""
        new = prefixes = 0
        for tokens, prefix in prefill:
            new += tokens
            prefixes += prefix
        if self._stage == "prefill":
            return _prefill_s(new + decode_batch)  # the last token of a cached prompt is a decode
        # A lone chunk that fills the step is not the last of its prompt, but for the rare one that just fits.
        gives_tokens = decode_batch or len(prefill) > 1 or 0 < new < self._max_batched_tokens
        time_s = 0.0 if self._stage == "decode" else _prefill_s(new)
        if gives_tokens:
            used = min(decode_context_tokens + decode_batch + prefixes + new, self._pool_tokens)
            time_s += _decode_s(used / self._pool_tokens)
        return time_s

    def decode_s(self, batch: int, sum_context_tokens: int, n: int) -> NDArray[np.float64]:
        """Return the times of `n` successive steps of the same decodes in seconds, shape (n,)."""
        if self._stage == "prefill":
            return np.full(n, _prefill_s(batch))
        first, last = sum_context_tokens + batch, sum_context_tokens + batch * n
        used = np.arange(first, last + 1, batch, dtype=np.float64)
        if last > self._pool_tokens:
            np.minimum(used, self._pool_tokens, out=used)
        used /= self._pool_tokens
        return _decode_s(used)


def _prefill_s(tokens: int) -> float:
    return (4.209989e-10 * tokens + 1.518344e-5) * tokens + 1.650142e-2 if tokens else 0.0


@overload
def _decode_s(used: float) -> float: ...
@overload
def _decode_s(used: NDArray[np.float64]) -> NDArray[np.float64]: ...
def _decode_s(used: Any) -> Any:
    # Without powers, which NumPy rounds differently from Python.
    return (-25.74e-3 * used + 54.01e-3) * used + 5.74e-3
