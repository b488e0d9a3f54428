"""Formats whose JSON objects are no rows by themselves: a session each, events of several kinds, heads."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sim.workload.request import Answers
from sim.workload.row import Row
from sim.workload.rows import Rows


class RecordReader(Protocol):
    """Makes rows of the JSON objects of one trace, in their order, all files of it."""

    dropped: Counter[str]
    """Objects, and requests in them, that are no row, by reason."""
    fixed: Counter[str]
    """Rows that were changed, by what was done."""
    notes: list[str]
    """What else is to be said, a sentence each."""

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Return the rows that an object holds, times in the format's unit.

        Raises:
            InputError: the object is not what it must be; names key, value and what is allowed.

        """

    def finish(self, rows: Rows) -> None:
        """Join what only the whole trace tells: who waits for whom, which tokens are an answer."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format of JSON objects, how it is told, and what reads it."""

    name: str
    tells: Callable[[Mapping[str, Any]], bool]
    """Whether a JSON object of a file is one of this format."""
    reader: Callable[[], RecordReader]
    units_per_s: float
    rounding: Literal["ceil", "floor"] = "ceil"
    """Whether the end of a prompt that fills no block has an id."""
    answers: Answers = "fresh"
    local_ids: bool = False
    """Whether equal ids of different files are not the same block."""
