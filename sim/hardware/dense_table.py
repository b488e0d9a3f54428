"""Dense layers as a table over the tokens of a step, for models that no smooth maximum fits.

More tokens wake more experts: the dense part of a mixture of experts is read in many small steps before it is
computed. A table has factors at some numbers of tokens, its knots: how much longer the dense part takes there
than the smooth maximum of `sim.hardware.step_time`. Between knots the time, not the factor, is a straight
line; beyond the last knot its factor holds. So whatever moves `t_floor_s` or `c_tok_s_per_token`, a draw or a
fit, moves the table with it.

Steps of decodes alone have a table of their own: an engine replays them as one graph, with kernels made for
one token a sequence.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count
from sim.base.settings import Settings
from sim.base.words import exactly

Factor = Annotated[float, Field(gt=0, le=1e3)]


class DenseTable(Settings):
    """Factors on the smooth maximum, by tokens of a step."""

    tokens: tuple[Count, ...] = Field(min_length=1, max_length=200)
    """The knots, ascending from 1 on."""
    prefill: tuple[Factor, ...]
    """Of a step with any prefill, at each knot."""
    decode: tuple[Factor, ...]
    """Of a step of decodes alone."""

    @model_validator(mode="after")
    def _columns_agree(self) -> Self:
        if self.tokens[0] != 1 or any(low >= high for low, high in pairwise(self.tokens)):
            raise ValueError("tokens must ascend from 1 on")
        if not len(self.tokens) == len(self.prefill) == len(self.decode):
            raise ValueError(
                f"{exactly(len(self.tokens), 'token')} need as many factors, not {len(self.prefill)} of "
                f"prefill and {len(self.decode)} of decode"
            )
        return self


class DenseCurve:
    """The time of the dense part, in seconds; more tokens never take less."""

    __slots__ = ("_beyond_s", "_knots", "_last_factor", "_times_s")

    def __init__(
        self, knots: Sequence[int], factors: Sequence[float], beyond_s: Callable[[int], float]
    ) -> None:
        """Make the curve of some factors on `beyond_s`, the time without a table; it must not fall."""
        without_s = [beyond_s(tokens) for tokens in knots]
        times_s = [factor * time_s for factor, time_s in zip(factors, without_s, strict=True)]
        self._knots = knots
        self._times_s = list(accumulate(times_s, max))
        self._beyond_s = beyond_s
        self._last_factor = self._times_s[-1] / without_s[-1] if without_s[-1] else 0.0

    def at_least(self, other: "DenseCurve") -> None:
        """Raise the curve to another one of the same knots where it is lower."""
        self._times_s = list(map(max, self._times_s, other._times_s))
        self._last_factor = max(self._last_factor, other._last_factor)

    def time_s(self, tokens: int) -> float:
        """Return the time of 1 token or more."""
        place = bisect_left(self._knots, tokens)
        if place == len(self._knots):
            return max(self._times_s[-1], self._last_factor * self._beyond_s(tokens))
        high = self._knots[place]
        if tokens == high:
            return self._times_s[place]
        low = self._knots[place - 1]
        low_s, high_s = self._times_s[place - 1], self._times_s[place]
        return low_s + (high_s - low_s) * ((tokens - low) / (high - low))
