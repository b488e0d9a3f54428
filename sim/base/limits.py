"""Limits on numbers of a summary: `ttft_s.p95<3`, `throughput.requests_per_s>0.5`, `itl_s.p99<200ms`."""

import re
from typing import NamedTuple, Self

from sim.base.errors import InputError
from sim.base.units import TIME

_LIMIT = re.compile(r"\s*([\w.]+?)\s*([<>])=?\s*(\S.*?)\s*")


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
        match = _LIMIT.fullmatch(text)
        try:
            if match is None:
                raise ValueError(f"{text!r} is not a limit")
            bound = float(TIME.parse(match[3]))
        except ValueError as error:
            raise InputError(
                f'{option} {text}: write NUMBER<LIMIT or NUMBER>LIMIT, such as "ttft_s.p95<3"'
            ) from error
        return cls(match[1], bound, match[2] == "<", text.strip())

    def margin(self, value: float) -> float:
        """Return how far inside a value is, as a share of the limit; negative outside."""
        distance = self.bound - value if self.below else value - self.bound
        return distance / self.bound if self.bound else distance
