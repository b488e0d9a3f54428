"""A routing decision explained: the terms of each candidate, what settled it, what it cost afterwards."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Why = Literal["only-candidate", "lowest-cost", "tie", "temperature", "policy", "own-policy"]
Values = Mapping[str, Any]
"""A row by column name: see `sim.results.tables`; None where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One routing decision of a request."""

    leg: str
    """For what: aggregated, prefill or decode."""
    now_s: float
    chosen: int
    """The worker that got it."""
    why: Why
    """What settled it; `tie`: chance, among those of equal lowest cost."""
    policy: str
    """The scenario's, which `own-policy` stood in for."""
    reads_cache: bool
    """Whether that policy cares what workers hold."""
    temperature: float
    cheapest: tuple[int, ...]
    """The workers that shared the lowest cost."""
    candidates: tuple[Values, ...]
    """Rows of the table of decisions; where the leg placed the prefill, with `expected_recomputed_tokens`."""


@dataclass(frozen=True, slots=True)
class Fewest:
    """The candidate that was expected to recompute fewest tokens (`sim.results.decisions`)."""

    worker: int
    expected_tokens: int
    """What it was expected to recompute."""
    chosen_expected_tokens: int
    """What the chosen one was."""
    cost: float
    """What the router took its cost to be, in blocks."""


@dataclass(frozen=True, slots=True)
class Regret:
    """How a choice stands beside the oracle's, which knows what every worker truly holds."""

    worker: int
    """The oracle's: the chosen one, if no candidate would compute less."""
    tokens: int
    """Prompt tokens that it need not compute and the chosen worker has to."""


@dataclass(frozen=True)
class Explanation:
    """How one request was routed, and what became of it."""

    block_tokens: int
    request: Values
    """Its row in the table of requests."""
    choices: tuple[Choice, ...]
    """In order of time; none if it was never routed."""
    fewest: Fewest | None
    """None if it was never routed to a prefill."""
    conditional: bool = False
    """Whether the run's disaggregation was conditional."""
    regret: Regret | None = None
    """None: the run was not asked for it (`output.regret`), or no prompt was placed."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Whose rules router and engines follow."""

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self)
