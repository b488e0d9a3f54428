"""Units and tolerances of rows, and the numbers that are made of those of a JSON summary."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.units import SIZE
from sim.results import quantities

Level = int | float
"""Where on the scale of a cluster a number was measured: so many sessions, so many requests/s."""
MOST_LEVEL = 100_000

SHARES: Mapping[str, float] = {"fraction": 1.0, "percent": 100.0}
_TIMES: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "min": 1 / 60, "h": 1 / 3600}
_COUNTS = ("tokens", "blocks", "requests", "sessions", "workers", "ratio", "tokens/s", "requests/s")
UNITS: Mapping[str, float] = {
    **_TIMES,
    **SHARES,
    **dict.fromkeys(_COUNTS, 1.0),
    **{unit: 1 / float(factor) for unit, factor in SIZE.units.items()},
}
"""How many of a row's unit are one of the summary's."""


def check_unit(metric: str, unit: str, where: str) -> None:
    """Refuse a unit that is not known, or that the number cannot have; raises InputError."""
    if unit not in UNITS:
        raise InputError(f"{where} unit = {unit!r}: is none{did_you_mean(unit, UNITS)}")
    kind = unit_of(metric)
    for asked, units in ((quantities.SECONDS, _TIMES), (quantities.SHARE, SHARES)):
        if (kind is asked) != (unit in units):
            others = ", ".join(units)
            allowed = f"must be one of {others}" if kind is asked else f"{metric} is none of {others}"
            raise InputError(f"{where} unit = {unit}: {allowed}")


class Tolerance(NamedTuple):
    """How far a number may be from a printed one."""

    size: float
    points: bool
    """Percentage points of a share; else a part of the printed number."""

    def around(self, low: float, high: float, unit: str) -> tuple[float, float]:
        """Return what is allowed around a printed number, or around a printed range."""
        if self.points:
            slack = self.size * SHARES[unit] / 100
            return low - slack, high + slack
        return low - self.size * abs(low), high + self.size * abs(high)

    def __str__(self) -> str:
        """Return "± 15 %" or "± 3 points"."""
        return f"± {self.size:g} points" if self.points else f"± {100 * self.size:g} %"


_WRITTEN = re.compile(r"(\d+\.?\d*|\.\d+)\s*(points?)?")


def _tolerance(value: object) -> object:
    if value == "" or value is None:
        return None
    match = _WRITTEN.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(
            'must be a part of the printed number, such as 0.15, or points of a share: "3 points"'
        )
    return Tolerance(float(match[1]), match[2] is not None)


ReadTolerance = Annotated[Tolerance | None, BeforeValidator(_tolerance)]


def _level(value: object) -> object:
    if value == "" or value is None:
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not 0 < number <= MOST_LEVEL:
        raise ValueError(f"must be a number above 0 and at most {MOST_LEVEL:,}")
    return int(number) if number.is_integer() else number


ReadLevel = Annotated[Level | None, BeforeValidator(_level)]


def level_text(level: Level | None) -> str:
    """Return a level as settings and tables have it; "" without one."""
    return "" if level is None else str(level)


Numbers = Mapping[str, float | None]
"""A run's numbers by dotted name: see `sim.results.quantities`."""


def _hit_share(numbers: Numbers) -> float | None:
    computed, prompts = numbers.get("prefill.computed_tokens"), numbers.get("prefill.prompt_tokens")
    return None if computed is None or not prompts else 1 - computed / prompts


def _in_flight(numbers: Numbers) -> float | None:
    rate, stay_s = numbers.get("throughput.requests_per_s"), numbers.get("e2e_s.mean")
    return None if rate is None or stay_s is None else rate * stay_s


def _rejected(numbers: Numbers) -> float | None:
    rejected, total = numbers.get("requests.rejected"), numbers.get("requests.total")
    return None if rejected is None or not total else rejected / total


class Made(NamedTuple):
    """A number that is made of those of a summary."""

    label: str
    share: bool
    value: Callable[[Numbers], float | None]


MADE: Mapping[str, Made] = {
    "hit_share": Made("Prompt tokens from a cache", True, _hit_share),
    "in_flight.mean": Made("Requests in flight, mean", False, _in_flight),
    "rejected_share": Made("Requests rejected", True, _rejected),
}
"""`hit_share`: of prompt tokens, those that were not computed; `in_flight.mean`: by Little's law, of the
whole run; `rejected_share`: of all requests."""


def unit_of(metric: str) -> quantities.Unit:
    """Return how a number is shown."""
    if metric in MADE:
        return quantities.SHARE if MADE[metric].share else quantities.PLAIN
    return quantities.unit(metric)


def number(numbers: Numbers, metric: str) -> float | None:
    """Return a number of a run, by the summary's name or one of `MADE`; None if it was not measured."""
    return MADE[metric].value(numbers) if metric in MADE else numbers.get(metric)


def without_tag(metric: str) -> str:
    """Return the number of `by_tag.TAG.NUMBER`; any other name as it is."""
    _, of_tag, rest = metric.partition("by_tag.")
    return rest.partition(".")[2] or metric if of_tag and metric.startswith(of_tag) else metric


MEMORY_LABELS: Mapping[str, str] = {
    "weights": "Weights",
    "pool": "KV pool",
    "pool_blocks": "Blocks of the KV pool",
    "pool_tokens": "Tokens of the KV pool",
    "token": "KV of one token",
    "state": "State of one sequence",
    "session": "KV and state of one session",
    "sessions": "Sessions in the KV pool",
}
"""Of the numbers of a worker's memory that static rows have."""


def label(metric: str) -> str:
    """Return what a person calls a number."""
    if metric in MADE:
        return MADE[metric].label
    return MEMORY_LABELS.get(metric) or quantities.label(metric)
