"""One row of a trace file."""

from array import array
from typing import NamedTuple

from sim.workload.recorded import NOTHING, Recorded
from sim.workload.request import Answer


class Row(NamedTuple):
    """A request as the file has it; times in the file's unit, so that re-basing whole numbers is exact."""

    line: int
    session: str | None
    request_id: str | None
    timestamp: float | None
    delay: float | None
    input_length: int
    output_length: int
    hash_ids: "array[int]"
    """Unsigned 64-bit numbers."""
    waits_for: tuple[int, ...] = ()
    """Other rows, by number, whose answers had to be there; none: the turn before alone."""
    answer: Answer | None = None
    """Which of its tokens are the answer to another row, by number."""
    priority: int = 0
    model: str | None = None
    cancel_after_s: float | None = None
    strict_priority: int = 0
    policy_class: str | None = None
    tag: str | None = None
    recorded: Recorded = NOTHING
    file: int | None = None
    """Which file it is in; None: the one that is being read."""
    block_size: int = 0
    """How many tokens one of its ids stands for, where the row says so; else 0."""
    belongs_to: str | None = None
    """The session, of an earlier row, that its own is a sub-agent of: taken with that, and not counted."""


N_COMMON = 8
"""Fields that every row has a value for, or may have in most formats; the first ones."""
COMMON = Row(0, None, None, None, None, 0, 0, array("Q"))[N_COMMON:]
"""The others of most rows."""
