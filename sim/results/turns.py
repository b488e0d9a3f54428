"""The numbers of first turns of sessions, and of later ones: a cold prompt is not judged as a warm one.

The summary of a run has, as `by_turn`, the numbers of a part (`sim.results.part`) for `first` and for
`later`. A request is of `first` if no other of its session comes before it among all requests of the run,
whether these count or not: where first requests are left out of the numbers, the turns that follow them stay
later ones. Sub-agents have sessions of their own. A run in which no session has a second turn, as of a trace
that names no sessions, has no such table.
"""

from typing import Any

from sim.results.part import part_numbers
from sim.results.request_columns import RequestColumns
from sim.results.rows import Table

TURNS = ("first", "later")


def has_turns(requests: Table) -> bool:
    """Whether any session has a second turn."""
    return bool(requests.values("turn").values.any())


def by_turn(requests: Table, block_tokens: int) -> dict[str, Any]:
    """Return the numbers of the first turns among these requests, and of the others."""
    later = requests.values("turn").values > 0
    parts = (RequestColumns(requests.where(chosen)) for chosen in (~later, later))
    return {name: part_numbers(columns, block_tokens) for name, columns in zip(TURNS, parts, strict=True)}
