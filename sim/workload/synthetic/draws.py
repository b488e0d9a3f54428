"""Numbers that a described workload draws: one for all, evenly between two, or by shares of all."""

from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from sim.base.settings import Settings
from sim.base.uniform import uniform
from sim.base.units import Seconds, Tokens
from sim.workload.distributions import Quantiles

MOST_REQUESTS = 10_000_000

_Shares = Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=2, max_length=1_000)]


class _ByShares(Settings):
    shares: _Shares
    """Shares of all, rising from 0 to 1."""

    @property
    def values(self) -> tuple[float, ...]:
        """The number at each share."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if self.shares[0] != 0 or self.shares[-1] != 1 or any(a >= b for a, b in pairwise(self.shares)):
            raise ValueError("shares: must rise from 0 to 1")
        if len(self.values) != len(self.shares):
            raise ValueError("give as many numbers as shares")
        if self.values[0] <= 0 or any(a > b for a, b in pairwise(self.values)):
            raise ValueError("the numbers at the shares must be above 0, and none below the one before")
        return self


class TokenShares(_ByShares):
    """Lengths by shares of all; between two shares straight lines in their logarithms."""

    tokens: tuple[Tokens, ...]
    """The length at each share."""

    @property
    def values(self) -> tuple[float, ...]:
        """See `_ByShares`."""
        return self.tokens


class SecondShares(_ByShares):
    """Times by shares of all; between two shares straight lines in their logarithms."""

    seconds: tuple[Seconds, ...]
    """The time at each share."""

    @property
    def values(self) -> tuple[float, ...]:
        """See `_ByShares`."""
        return self.seconds


TokensDrawn = Tokens | tuple[Tokens, Tokens] | TokenShares
"""A length: one for all, evenly from the first to the second, or by shares."""
SecondsDrawn = Seconds | tuple[Seconds, Seconds] | SecondShares
"""A time, likewise."""


class Draws:
    """Numbers by purpose and entity: `kind` keeps those of one kind of workload apart from all others."""

    def __init__(self, kind: str, seed: int) -> None:
        self._kind = kind
        self._seed = seed

    def uniform(self, purpose: str, entity: int, k: int = 0) -> float:
        """Return a number in [0, 1)."""
        return uniform(self._seed, f"{self._kind} {purpose}", entity, k)

    def tokens(self, how: TokensDrawn, purpose: str, entity: int, k: int = 0, *, least: int = 1) -> int:
        """Return a whole number of tokens, `least` at least."""
        if isinstance(how, tuple):
            low, high = sorted(how)
            return max(least, low + int(self.uniform(purpose, entity, k) * (high - low + 1)))
        if isinstance(how, TokenShares):
            return max(least, round(self._by_shares(how, purpose, entity, k)))
        return max(least, how)

    def seconds(self, how: SecondsDrawn, purpose: str, entity: int, k: int = 0) -> float:
        """Return a time."""
        if isinstance(how, tuple):
            low, high = sorted(how)
            return low + self.uniform(purpose, entity, k) * (high - low)
        return self._by_shares(how, purpose, entity, k) if isinstance(how, SecondShares) else how

    def order(self, n: int, purpose: str) -> list[int]:
        """Return the numbers below `n` in a random order."""
        return sorted(range(n), key=lambda number: self.uniform(purpose, number))

    def _by_shares(self, how: _ByShares, purpose: str, entity: int, k: int) -> float:
        return Quantiles(how.shares, how.values).quantile(self.uniform(purpose, entity, k))
