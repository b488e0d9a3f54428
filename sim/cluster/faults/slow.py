"""A step-time law whose steps take a factor longer for a while."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.hardware.step_time import StepTime
from sim.scenario.faults import Fault, SlowGpu


def is_slowed(faults: Sequence[Fault], worker: int) -> bool:
    """Whether a worker is slow at some time."""
    return any(isinstance(fault, SlowGpu) and fault.worker in (None, worker) for fault in faults)


class SlowLaw:
    """A law times `factor`, which holds for steps that are planned from now on; a `StepTime`."""

    def __init__(self, law: StepTime) -> None:
        self.factor = 1.0
        self._law = law

    def step_s(
        self, prefill: Sequence[tuple[int, int]], decode_batch: int, decode_context_tokens: int
    ) -> float:
        """See `StepTime`."""
        return self.factor * self._law.step_s(prefill, decode_batch, decode_context_tokens)

    def decode_s(self, batch: int, sum_context_tokens: int, n: int) -> NDArray[np.float64]:
        """See `StepTime`."""
        return np.multiply(self.factor, self._law.decode_s(batch, sum_context_tokens, n))
