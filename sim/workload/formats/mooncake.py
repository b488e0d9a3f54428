"""Mooncake JSONL (FAST'25 release) with Dynamo 1.5.0's multi-turn fields.

One request a line: `timestamp` in milliseconds, `input_length`, `output_length`, and `hash_ids`, one for
every chunk of the whole prompt, rounded up (512 tokens in Mooncake's own files). Dynamo adds `session_id`,
`delay` in milliseconds (think time after the previous turn's answer), `request_id`, and other names for the
same keys. Rows of one session are its turns, in file order, each with its full prompt.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sim.workload.formats.row import RowFormat

FORMAT = RowFormat(
    name="mooncake",
    keys={
        "timestamp": ("timestamp", "created_time"),
        "input_length": ("input_length", "input_tokens"),
        "output_length": ("output_length", "output_tokens"),
        "hash_ids": ("hash_ids",),
        "session": ("session_id", "session"),
        "delay": ("delay", "delay_ms"),
        "request_id": ("request_id",),
    },
    units_per_s=1000.0,
)

DELTA = replace(FORMAT, name="mooncake-delta")
"""The same keys, but a row holds what its turn adds: see `sim.workload.deltas`."""

_OWN_KEYS = {key for keys in FORMAT.keys.values() for key in keys} - {
    "timestamp",
    "input_length",
    "output_length",
    "hash_ids",
    "session",
}


def recognises(sample: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether rows have a key that only this format has, or whole timestamps as milliseconds are."""
    whole = True
    for record in sample:
        if not _OWN_KEYS.isdisjoint(record):
            return True
        time = record.get("timestamp")
        whole = whole and not (isinstance(time, float) and time % 1)
    return whole
