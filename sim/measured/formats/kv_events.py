"""KV events of one vLLM engine (0.28.0), recorded by a subscriber as JSONL.

A line is a batch: `{"t": received, "seq": n, "batch": [engine time, [events], dp rank]}`, in Unix seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from sim.base.errors import InputError
from sim.measured.formats.records import Record, read_lines


class EventType(StrEnum):
    """What happened to blocks, by vLLM's names."""

    STORED = "BlockStored"
    REMOVED = "BlockRemoved"
    CLEARED = "AllBlocksCleared"


BlockHash = int | str


@dataclass(frozen=True, slots=True)
class RecordedKvEvent:
    """One event; blocks are known by the engine's hash of the whole prefix up to their end."""

    type: EventType
    engine_s: float
    """When the engine published the batch, Unix time."""
    received_s: float | None
    """When the recorder had it, Unix time."""
    dp_rank: int
    block_hashes: Sequence[BlockHash]
    """In the order of the prompt for stored blocks; empty when all were cleared."""
    parent_hash: BlockHash | None
    """Stored: the block before the first of them; None at the start of a prompt."""
    block_tokens: int | None
    """Tokens of one block; 0 in the placeholder events of a CPU tier that does not describe itself."""
    medium: str | None
    """The tier: GPU or CPU."""
    group: int | None
    """KV cache group, in a hybrid model."""
    group_kind: str | None
    """Kind of its layers: full_attention, mamba, ..."""


@dataclass(frozen=True, slots=True)
class KvEvents:
    """All events of one engine, in order."""

    events: tuple[RecordedKvEvent, ...]
    n_batches: int
    missing_batches: int
    """Numbers of the sequence that the recorder did not get between the first and the last."""


class _Event(Record):
    type: EventType
    block_hashes: list[BlockHash] = Field(default_factory=list)
    parent_block_hash: BlockHash | None = None
    block_size: int | None = None
    medium: str | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None


class _Line(Record):
    t: float | None = None
    seq: int
    batch: tuple[float, list[_Event], int | None]


def read_kv_events(path: Path) -> KvEvents:
    """Return the events of a recording, plain or gzipped.

    Raises:
        InputError: a line is not a batch, or the sequence numbers do not rise.

    """
    events: list[RecordedKvEvent] = []
    first = last = None
    n_batches = 0
    for number, line in read_lines(path, _Line):
        if last is not None and line.seq <= last:
            raise InputError(
                f"{path}, line {number}: seq = {line.seq} after {last}: the batches of one engine are "
                "numbered in order; give each engine, and each of its starts, a file of its own"
            )
        first, last = line.seq if first is None else first, line.seq
        n_batches += 1
        engine_s, batch, dp_rank = line.batch
        events += [_event(event, engine_s, line.t, dp_rank or 0) for event in batch]
    missing = 0 if first is None or last is None else last - first + 1 - n_batches
    return KvEvents(tuple(events), n_batches, missing)


def _event(event: _Event, engine_s: float, received_s: float | None, dp_rank: int) -> RecordedKvEvent:
    return RecordedKvEvent(
        event.type,
        engine_s,
        received_s,
        dp_rank,
        tuple(event.block_hashes),
        event.parent_block_hash,
        event.block_size,
        event.medium,
        event.group_idx,
        event.kv_cache_spec_kind,
    )
