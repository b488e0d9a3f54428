"""Alibaba's Bailian traces (qwen-bailian-usagetraces-anon).

One request a line: `timestamp` in seconds, lengths, ids of 16 tokens, `chat_id`, and `parent_chat_id` (-1:
none). A chat and all that follow from it are a session, whose requests wait for their parents. The last id of
a prompt is that of a padded block, which changes once the answer begins: it is never the same as another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sim.base.errors import InputError
from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.formats import mooncake
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowReader
from sim.workload.formats.values import name_of
from sim.workload.row import Row
from sim.workload.rows import NO_ROW, Rows

CHUNK_TOKENS = 16
NO_PARENT = "-1"
_ROWS = replace(
    mooncake.FORMAT,
    name="bailian",
    keys={
        "timestamp": ("timestamp",),
        "input_length": ("input_length",),
        "output_length": ("output_length",),
        "hash_ids": ("hash_ids",),
        "rest": ("chat_id", "parent_chat_id", "type", "turn"),
    },
)


class BailianReader(RowReader):
    """Reads such rows."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(_ROWS, findings)
        self.chunk_tokens = CHUNK_TOKENS
        self._chats: dict[str, tuple[str, int]] = {}
        """Session and row of each chat."""
        self._newest: dict[str, int] = {}
        """The newest row of each session."""
        self._waits: list[tuple[int, int]] = []
        self._n_outside = 0

    def rows(self, record: Mapping[str, Any], line: int) -> Iterator[Row]:
        """Yield the row of an object; raises InputError."""
        if record.get("chat_id") is None:
            raise InputError("chat_id is missing")
        chat, parent = name_of("chat_id", record["chat_id"]), record.get("parent_chat_id")
        before = None
        if parent is not None and name_of("parent_chat_id", parent) != NO_PARENT:
            before = self._chats.get(name_of("parent_chat_id", parent))
            self._n_outside += before is None
        session = chat if before is None else before[0]
        if chat in self._chats:
            raise InputError(f"chat_id = {chat} is that of an earlier row")
        row = self.row(record, line)
        yield row._replace(session=session, hash_ids=row.hash_ids[:-1])
        if before is not None and before[1] not in (NO_ROW, self._newest.get(session)):
            self._waits.append((self.number, before[1]))
        self._chats[chat] = (session, self.number)
        self._newest[session] = self.number

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Let requests wait for their parents."""
        super().finish(rows, problems)
        for number, before in self._waits:
            if number != NO_ROW:
                rows.wait(number, (before,))
        if self._n_outside:
            self.findings.notes.append(
                f"requests whose parents are outside the file, each the first of a session: {self._n_outside}"
            )


FORMAT = RecordFormat(
    name="bailian",
    tells=lambda record: "chat_id" in record and "hash_ids" in record,
    reader=BailianReader,
    units_per_s=1.0,
    ends="never",
    answers="returned",
)
