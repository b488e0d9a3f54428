from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.measured.formats.kv_events import EventType, KvEvents, read_kv_events
from tests.measured.small_run import jsonl


def read(folder: Path, *batches: Any) -> KvEvents:
    path = folder / "kv.jsonl"
    path.write_text(jsonl(batches), encoding="utf-8")
    return read_kv_events(path)


def batch(seq: int, *events: Any, received_s: float = 2.5) -> dict[str, Any]:
    return {"t": received_s, "seq": seq, "batch": [2.0, list(events), 1]}


STORED = {
    "type": "BlockStored",
    "block_hashes": [2**64 - 1, 7],
    "parent_block_hash": 5,
    "token_ids": [1, 2],
    "block_size": 16,
    "medium": "GPU",
    "group_idx": 3,
    "kv_cache_spec_kind": "full_attention",
}


def test_events_come_in_order_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    removed = {"type": "BlockRemoved", "block_hashes": [7], "medium": "CPU", "group_idx": 0}
    recorded = read(tmp_path, batch(4, STORED, removed), batch(5, {"type": "AllBlocksCleared"}))
    assert [event.type for event in recorded.events] == [
        EventType.STORED,
        EventType.REMOVED,
        EventType.CLEARED,
    ]
    first = recorded.events[0]
    assert (first.engine_s, first.received_s, first.dp_rank) == (2.0, 2.5, 1)
    assert (first.block_hashes, first.parent_hash, first.block_tokens) == ((2**64 - 1, 7), 5, 16)
    assert (first.medium, first.group, first.group_kind) == ("GPU", 3, "full_attention")
    assert recorded.events[1].medium == "CPU"
    assert recorded.events[2].block_hashes == ()


def test_missing_batches_are_counted(tmp_path: Path) -> None:
    assert read(tmp_path, batch(4), batch(5), batch(9)).missing_batches == 3
    assert read(tmp_path, batch(4), batch(5)).missing_batches == 0
    assert read(tmp_path).missing_batches == 0


def test_a_sequence_that_does_not_rise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: seq = 4 after 4"):
        read(tmp_path, batch(4), batch(4))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"seq": 1}, "batch is missing"),
        ({"seq": 1, "batch": 3}, "batch = 3: must be a list"),
        (batch(1, {"type": "BlockMoved"}), "batch.1.0.type = 'BlockMoved'"),
        (batch(1, STORED | {"block_hashes": [1.5]}), "batch.1.0.block_hashes.0"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, line)
    assert "line 1" in str(caught.value)
