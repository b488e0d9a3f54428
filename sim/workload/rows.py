"""The rows of a trace file as columns: a million of them take the memory of their numbers."""

from array import array
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from sim.workload.columns import Shared, Sparse
from sim.workload.hash_ids import HashIds
from sim.workload.recorded import NOTHING, Recorded
from sim.workload.request import Answer
from sim.workload.row import COMMON, N_COMMON, Row

NO_ROW = -1
SCOPE_BIT = 48
"""Ids of a file that has its own differ from equal ones of another above this bit."""


class Rows:
    """Rows in the order of the file. Those of one session are its turns; one that names none has its own.

    Times are in the file's unit, nan where there is none. Rows are numbered from 0, and so are sessions, in
    order of first appearance. Columns of what few formats have are empty until a row has it.
    """

    def __init__(self, most_sessions: int | None = None) -> None:
        """`most_sessions`: how many are kept, the first, with their sub-agents; others are only counted."""
        self._most_sessions = most_sessions
        self.line = array("q")
        self.session = array("q")
        self.turn = array("q")
        self.before = array("q")
        """The turn before, `NO_ROW` for the first of a session."""
        self.timestamp = array("d")
        self.delay = array("d")
        self.input_length = array("q")
        self.output_length = array("q")
        self.ids = HashIds()
        self.n_sessions = 0
        """Of the file, kept or not, and sub-agents."""
        self._n_agents = 0
        """Sessions that belong to another."""
        self._heads: dict[int, int] = {}
        """The session that each of those that are kept belongs to."""
        self.skipped_lengths = array("q")
        """Prompts of rows that are not kept."""
        self.skipped_counts = array("q")
        """Of hash ids of them."""
        self.skipped_lines = array("q")
        self.n_unnamed = 0
        """Rows that name no session."""
        self.priority = Sparse(0)
        self.strict_priority = Sparse(0)
        self.policy_class: Shared[str] = Shared()
        self.tag: Shared[str] = Shared()
        self.model: Shared[str] = Shared()
        self.cancel_after_s = Sparse(nan)
        self.block_size = Sparse(0)
        self._waits: dict[int, tuple[int, ...]] = {}
        self._answers: dict[int, Answer] = {}
        self._recorded: dict[int, Recorded] = {}
        self._names: dict[int, str] = {}
        self._latest: dict[str, int] = {}
        """The newest row of each session that has a name and is kept."""
        self._skipped_names: set[str] = set()
        self._files: list[str] = []
        """Names of files, if there are several."""
        self._file_of = array("i")
        """Of each row, if there are several."""
        self._scope: int | None = None
        """Of ids and sessions of this file."""

    def __len__(self) -> int:
        return len(self.line)

    def next_file(self, name: str | None, *, own_ids: bool = False) -> None:
        """Say that the rows that follow are of another file, one of several if it has a name.

        `own_ids`: whether its ids and sessions are others than equal ones of the files before.
        """
        if name is not None:
            self._scope = len(self._files) if own_ids else None
            self._files.append(name)

    def append(self, row: Row) -> bool:
        """Add a row; return whether its session is one of those that are kept."""
        if self._scope:
            row = self._scoped(row)
        if self._most_sessions is not None and self._skips(row):
            return False
        number, before = len(self.line), NO_ROW
        if row.session is None:
            self.n_unnamed += 1
        else:
            before = self._latest.get(row.session, NO_ROW)
            self._latest[row.session] = number
        if before == NO_ROW:
            if row.session is not None:
                self._names[self.n_sessions] = row.session
                self._join(row)
            self.session.append(self.n_sessions)
            self.turn.append(0)
            self.n_sessions += 1
        else:
            self.session.append(self.session[before])
            self.turn.append(self.turn[before] + 1)
        self.before.append(before)
        self.line.append(row.line)
        if self._files:
            self._file_of.append(len(self._files) - 1 if row.file is None else row.file)
        self.timestamp.append(nan if row.timestamp is None else row.timestamp)
        self.delay.append(nan if row.delay is None else row.delay)
        self.input_length.append(row.input_length)
        self.output_length.append(row.output_length)
        self.ids.append(row.hash_ids)
        if row[N_COMMON:] != COMMON:
            self._append_rare(number, row)
        return True

    @property
    def n_counted(self) -> int:
        """How many sessions the file has, kept or not; sub-agents are part of theirs."""
        return self.n_sessions - self._n_agents

    def of_first(self, sessions: int) -> NDArray[np.intp]:
        """Return the rows of the first so many sessions, with those of their sub-agents."""
        session = whole_numbers(self.session)
        if not self._heads:
            return np.flatnonzero(session < sessions)
        head = np.arange(self.n_sessions)
        is_counted = np.ones(self.n_sessions, bool)
        is_counted[[*self._heads]] = False
        head[[*self._heads]] = [*self._heads.values()]
        return np.flatnonzero(is_counted.cumsum()[head[session]] <= sessions)

    @property
    def in_file(self) -> int:
        """How many rows the file has, kept or not."""
        return len(self.line) + len(self.skipped_lines)

    def _scoped(self, row: Row) -> Row:
        """Return a row with ids and a session that no other file has, but for chance among hashes."""
        ids = np.frombuffer(row.hash_ids, np.uint64) ^ np.uint64((self._scope or 0) << SCOPE_BIT)
        session = None if row.session is None else f"{self._files[-1]}: {row.session}"
        head = None if row.belongs_to is None else f"{self._files[-1]}: {row.belongs_to}"
        return row._replace(hash_ids=array("Q", ids.tobytes()), session=session, belongs_to=head)

    def _skips(self, row: Row) -> bool:
        most = self._most_sessions
        if (
            most is None
            or self.n_counted < most
            or (row.session is not None and row.session in self._latest)
            or (row.belongs_to in self._latest and row.session not in self._skipped_names)
        ):
            return False
        if row.session is None:
            self.n_unnamed += 1
            self.n_sessions += 1
        elif row.session not in self._skipped_names:
            self._skipped_names.add(row.session)
            self.n_sessions += 1
            self._n_agents += row.belongs_to in self._skipped_names
        self.skipped_lines.append(row.line)
        self.skipped_lengths.append(row.input_length)
        self.skipped_counts.append(len(row.hash_ids))
        return True

    def _join(self, row: Row) -> None:
        """Let a new session belong to the one that its first row names, if that is there."""
        if row.belongs_to in self._latest and row.belongs_to != row.session:
            head = self.session[self._latest[row.belongs_to]]
            self._heads[self.n_sessions] = self._heads.get(head, head)
            self._n_agents += 1

    def _append_rare(self, number: int, row: Row) -> None:
        if row.priority:
            self.priority.put(number, row.priority)
        if row.strict_priority:
            self.strict_priority.put(number, row.strict_priority)
        if row.policy_class is not None:
            self.policy_class.put(number, row.policy_class)
        if row.tag is not None:
            self.tag.put(number, row.tag)
        if row.block_size:
            self.block_size.put(number, row.block_size)
        if row.model is not None:
            self.model.put(number, row.model)
        if row.cancel_after_s is not None:
            self.cancel_after_s.put(number, row.cancel_after_s)
        if row.waits_for:
            self._waits[number] = row.waits_for
        if row.answer is not None:
            self._answers[number] = row.answer
        if row.recorded is not NOTHING:
            self._recorded[number] = row.recorded

    def waits_for(self, row: int) -> tuple[int, ...]:
        """Return the other rows whose answers a row waits for."""
        return self._waits.get(row, ())

    @property
    def has_waits(self) -> bool:
        """Whether a row says for which others it waits."""
        return bool(self._waits)

    def wait(self, row: int, for_rows: tuple[int, ...]) -> None:
        """Let a row wait for others, of whatever session."""
        self._waits[row] = for_rows

    def answer(self, row: int) -> Answer | None:
        """Return which tokens of a row are the answer to another."""
        return self._answers.get(row)

    def mark_answer(self, row: int, answer: Answer) -> None:
        """Say which tokens of a row are the answer to another one, by its number."""
        self._answers[row] = answer

    def recorded(self, row: int) -> Recorded:
        """Return what was measured of a row."""
        return self._recorded.get(row, NOTHING)

    @property
    def has_recorded(self) -> bool:
        """Whether anything was measured of any row."""
        return bool(self._recorded)

    def holds(self, number: int, row: Row) -> bool:
        """Return whether a row that was added is equal to another one but for the line."""
        return (
            self._names.get(self.session[number]) == row.session
            and _known(self.timestamp[number]) == row.timestamp
            and _known(self.delay[number]) == row.delay
            and self.input_length[number] == row.input_length
            and self.output_length[number] == row.output_length
            and self.hash_ids(number) == row.hash_ids
        )

    def session_name(self, row: int) -> str:
        """Return the name of a row's session; one without is called after its line."""
        name = self._names.get(self.session[row])
        place = self.place(row) if name is None else 0
        return name if name is not None else f"line {place}" if isinstance(place, int) else place

    def hash_ids(self, row: int) -> "array[int]":
        """Return the ids of a row."""
        return self.ids.get(row)

    def lengths(self) -> NDArray[np.int64]:
        """Return the lengths of all prompts of the file, those that are not kept at the end."""
        return np.concatenate([whole_numbers(self.input_length), whole_numbers(self.skipped_lengths)])

    def id_counts(self) -> NDArray[np.int64]:
        """Return how many ids they have, in the same order."""
        return np.concatenate([whole_numbers(self.ids.counts), whole_numbers(self.skipped_counts)])

    def place(self, number: int) -> int | str:
        """Return the line of one of them, in the same order; with its file if there are several."""
        n = len(self.line)
        if number >= n:
            return self.skipped_lines[number - n]
        if not self._files:
            return self.line[number]
        return f"{self._files[self._file_of[number]]}, line {self.line[number]}"

    def file_of(self, row: int) -> int:
        """Return which of several files a row is in."""
        return self._file_of[row]

    @property
    def files(self) -> tuple[str, ...]:
        """Names of files, if there are several."""
        return tuple(self._files)


def _known(time: float) -> float | None:
    return None if isnan(time) else time


def whole_numbers(column: "array[int]") -> NDArray[np.int64]:
    """Return a column of whole numbers as NumPy sees it."""
    return np.frombuffer(column, np.int64)


def times(column: "array[float]") -> NDArray[np.float64]:
    """Return a column of times as NumPy sees it."""
    return np.frombuffer(column, np.float64)
