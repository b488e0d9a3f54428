"""What reads the JSON objects of a trace as rows: the base of all such readers."""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.row import Row
from sim.workload.rows import NO_ROW, Rows


class Reader:
    """Reads one trace, all files of it, in their order."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        """What is to be said of the trace."""
        self.file = 0
        """Which file is read."""
        self.number = NO_ROW
        """Where the row is that was handed out last: its number, `NO_ROW` if it is not kept."""
        self.chunk_tokens: int | None = None
        """How many tokens a hash id stands for, where the file says so."""

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Return the rows that an object holds, times in the format's unit.

        Raises:
            InputError: it is not what it must be; names key, value and what is allowed.

        """
        raise NotImplementedError

    def rest(self) -> Iterable[Row]:
        """Return the rows that only the whole trace tells, such as those that had to be sorted.

        Raises:
            InputError: names line and what is wrong.

        """
        return ()

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Join the rows that were kept, and say what else there is to say."""
