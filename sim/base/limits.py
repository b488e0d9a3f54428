"""Limits on numbers of a summary: `ttft_s.p95<3`, `throughput.requests_per_s>0.5`, `itl_s.p99<200ms`.

A limit may also be a share of requests: `95% of ttft_s<3`, `90% of by_turn.later.e2e_s<20`. It is then one on
the number `within.ttft_s<3.0`, the share of requests whose time is within that bound, which a run has if its
scenario asks for it (`output.within`).
"""

import re
from math import isfinite
from typing import NamedTuple, Self

from sim.base.errors import InputError
from sim.base.units import TIME

WITHIN = "within."
"""What names of shares of requests begin with."""

_LIMIT = re.compile(r"\s*(by_tag\.[^<>]+?|[\w.]+?)\s*([<>])=?\s*(\S.*?)\s*")
_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*of\s+(.*)", re.DOTALL)


class Limit(NamedTuple):
    """What a number of the summary may be at most or, above a limit, at least."""

    metric: str
    bound: float
    below: bool
    """Whether the number must stay below."""
    text: str
    """As it was written."""

    @classmethod
    def read(cls, text: str, option: str) -> Self:
        """Return the limit of a text; times may have units.

        Raises:
            InputError: it is written otherwise.

        """
        if share := _SHARE.fullmatch(text):
            return cls._of_share(float(share[1]) / 100, cls.read(share[2], option), text.strip(), option)
        match = _LIMIT.fullmatch(text)
        try:
            if match is None:
                raise ValueError(f"{text!r} is not a limit")
            bound = float(TIME.parse(match[3]))
        except ValueError as error:
            raise InputError(
                f'{option} {text}: write NUMBER<LIMIT or NUMBER>LIMIT, such as "ttft_s.p95<3"'
            ) from error
        if not isfinite(bound):
            raise InputError(f"{option} {text}: the limit must be a finite number")
        return cls(match[1], bound, match[2] == "<", text.strip())

    @classmethod
    def _of_share(cls, share: float, each: Self, text: str, option: str) -> Self:
        """Return the limit that so many requests keep `each`."""
        if not each.below or not 0 < share <= 1:
            raise InputError(
                f'{option} {text}: write SHARE% of TIME<LIMIT with a share of up to 100, such as "95% of '
                'ttft_s<3" or "95% of by_turn.later.ttft_s<3"'
            )
        return cls(f"{WITHIN}{each.metric}<{each.bound!r}", share, False, text)

    @property
    def within(self) -> str | None:
        """What each request is to keep, such as "ttft_s<3.0", if it is a limit on a share of them."""
        return self.metric.removeprefix(WITHIN) if self.metric.startswith(WITHIN) else None

    def margin(self, value: float) -> float:
        """Return how far inside a value is, as a share of the limit; negative outside."""
        distance = self.bound - value if self.below else value - self.bound
        return distance / self.bound if self.bound else distance
