"""One run among several: a scenario at a point with a seed, and what it came to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sim.results.quantities import counts_requests, flat
from sim.runs.comparison_rows import Value


@dataclass(frozen=True)
class Run:
    """A scenario at one point with one seed and one draw."""

    scenario: str
    """The name it has in the comparison."""
    settings: Mapping[str, Any]
    """The whole scenario, as scenario.toml has it."""
    written: Mapping[str, str]
    """The keys that were swept and their values as the user wrote them."""
    seed: int
    summary: Mapping[str, Any] | None
    """None if it failed."""
    notes: Sequence[str] = ()
    """What a reader must know beside the numbers."""
    error: str = ""
    """Why it failed."""
    draw: int = 0
    """Of the coefficients over their ranges; 0: their values."""
    switched: str = ""
    """The one rule of another release beside the settings, "retention=0.33"; "": all are as set."""

    def value(self, key: str) -> Value:
        """Return what a dotted key is set to; None if it is not."""
        node: Any = self.settings
        for part in key.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping | list):
            named = node.get("name") if isinstance(node, Mapping) else None
            return str(named) if named else json.dumps(node, sort_keys=True)
        value: Value = node
        return value

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """The numbers of its summary by dotted name; none if it failed."""
        return {} if self.summary is None else flat(self.summary)

    def number(self, metric: str) -> float | None:
        """Return one of them; None if it was not measured; 0 for requests of a kind that never came up."""
        value = self.numbers.get(metric)
        return 0.0 if value is None and self.numbers and counts_requests(metric) else value

    @property
    def thin_percentiles(self) -> Sequence[str]:
        """The percentiles with few samples beyond them."""
        return [] if self.summary is None else self.summary.get("thin_percentiles", [])
