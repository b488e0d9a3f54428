"""Which share of a run's requests kept a time: what `output.within` asks for, as `within` of the summary.

A time is a latency of a request, `ttft_s<3`, or that of a part of the requests: `by_turn.later.ttft_s<3`,
`by_tag.warm.ttft_s<3`. The share is of all requests of the part that count; one that was not completed keeps
nothing, one whose latency is undefined, such as the TPOT of a single token, keeps it, as in goodput.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.limits import Limit
from sim.results.ratio import ratio
from sim.results.rows import Table
from sim.results.tables import TAG

TIMES = ("ttft_s", "tpot_s", "e2e_s", "queue_s")
"""Latencies that every request has of its own."""
_BY_TURN, _BY_TAG = "by_turn.", "by_tag."


class Within(NamedTuple):
    """A time that requests are to keep."""

    part: str
    """Of which requests: "", "by_turn.first", "by_turn.later" or "by_tag." and a tag."""
    latency: str
    bound_s: float

    @classmethod
    def read(cls, text: str, option: str) -> Self:
        """Return what a text such as "by_turn.later.ttft_s<3" asks for.

        Raises:
            InputError: it is no such text.

        """
        limit = Limit.read(text, option)
        part, _, latency = limit.metric.rpartition(".")
        known = part in ("", f"{_BY_TURN}first", f"{_BY_TURN}later") or part.startswith(_BY_TAG)
        if not limit.below or latency not in TIMES or not known:
            raise InputError(
                f"{option} {text}: write TIME<LIMIT, where TIME is {', '.join(TIMES)}, alone or behind "
                '"by_turn.first.", "by_turn.later." or "by_tag.NAME."'
            )
        return cls(part, latency, limit.bound)

    def __str__(self) -> str:
        return f"{self.part}{'.' if self.part else ''}{self.latency}<{self.bound_s!r}"


def within(requests: Table, asked: Sequence[Within]) -> dict[str, float | None]:
    """Return the share of requests that keep each time; None of no request."""
    masks = dict(parts(requests))
    completed = requests.values("status").values == "completed"
    shares: dict[str, float | None] = {}
    for one in asked:
        values, measured = requests.values(one.latency)
        mask = masks.get(one.part, np.zeros(len(requests), np.bool_))
        good = mask & completed & ~(measured & (values > one.bound_s))
        shares[str(one)] = ratio(int(good.sum()), int(mask.sum()))
    return shares


def parts(requests: Table) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each part of the requests and which of them it has: all as "", by turn, by tag."""
    later = requests.values("turn").values > 0
    yield "", np.ones(len(requests), np.bool_)
    yield f"{_BY_TURN}first", ~later
    yield f"{_BY_TURN}later", later
    if requests.has(TAG.name):
        tags, tagged = requests.values(TAG.name)
        for tag in dict.fromkeys(tags[tagged].tolist()):
            yield f"{_BY_TAG}{tag}", tagged & (tags == tag)
