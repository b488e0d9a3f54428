"""Steps as AIConfigurator times them: the sum of their operations, and where each one's time comes from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sim.hardware.aic.library import Handle, Op

SOURCES = ("silicon", "empirical", "mixed")
"""Measured; a formula; measured elsewhere and scaled."""


class Timed(NamedTuple):
    """The time of a step."""

    s: float
    by_source: tuple[float, float, float]
    """The same by `SOURCES`, in seconds."""


class Steps(Protocol):
    """What a law is fitted to."""

    def prefill(self, new: int, prefix: int) -> Timed:
        """Return a step of one chunk."""

    def decode(self, batch: int, context: int) -> Timed:
        """Return a step of `batch` decodes at a context of so many tokens each."""

    def mixed_s(self, new: int, batch: int, context: int) -> float:
        """Return a step of a whole prompt and decodes at `context` tokens each, in seconds."""


class AicSteps:
    """The steps of one engine."""

    def __init__(self, handle: Handle) -> None:
        """Take the engine of the library; see `sim.hardware.aic.library.opened`."""
        self._handle = handle
        generation = self.decode(1, 256, "logits").s
        in_prefill = self._prefill(256, 0, "logits").s
        # Its prefills of mixtures of experts have no output head, vLLM's do: one row a prompt.
        self._head_s = max(generation - in_prefill, 0.0) if not in_prefill else 0.0

    def prefill(self, new: int, prefix: int) -> Timed:
        """Return a step of one chunk."""
        found = self._prefill(new, prefix)
        silicon, empirical, mixed = found.by_source
        return Timed(found.s + self._head_s, (silicon + self._head_s, empirical, mixed))

    def _prefill(self, new: int, prefix: int, word: str = "") -> Timed:
        ops, _ = self._handle.run_static_per_op(
            batch_size=1, isl=prefix + new, osl=1, prefix=prefix, mode="static_ctx"
        )
        return _timed(ops, word)

    def decode(self, batch: int, context: int, word: str = "") -> Timed:
        """Return a step of decodes; only operations with `word` in their names, if it is given."""
        return _timed(self._handle.decode_step_per_op(batch, context, 2), word)

    def mixed_s(self, new: int, batch: int, context: int) -> float:
        """Return a step of a prompt of `new` tokens, and decodes at as many of context."""
        if new != context:
            raise ValueError("the library has one length for both")
        return self._handle.mixed_step_latency(new, batch, new, 2, 0) / 1e3 + self._head_s


def _timed(ops: Sequence[Op], word: str) -> Timed:
    by_source = dict.fromkeys(SOURCES, 0.0)
    for name, ms, _, source in ops:
        if word in name:
            by_source[source if source in by_source else "mixed"] += ms / 1e3
    silicon, empirical, mixed = by_source.values()
    return Timed(silicon + empirical + mixed, (silicon, empirical, mixed))
