"""Trace files for tests: written from rows, loaded, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.request import Trace
from sim.workload.trace_file import load_trace

DATA = Path(__file__).parent / "data"
SHARED_TRACES = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces"
needs_shared = pytest.mark.skipif(not SHARED_TRACES.is_dir(), reason="needs the recorded traces in ../shared")

ROW = {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}


def written(folder: Path, *rows: dict[str, Any] | str | bytes) -> Path:
    """Write rows as JSONL; strings and bytes as they are."""
    path = folder / "trace.jsonl"
    path.write_bytes(
        b"".join(
            (row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode())
            + b"\n"
            for row in rows
        )
    )
    return path


def load(folder: Path, *rows: dict[str, Any] | str | bytes, **options: Any) -> Trace:
    return load_trace(written(folder, *rows), **options)


def refusal(folder: Path, *rows: dict[str, Any] | str | bytes, **options: Any) -> str:
    """Return the message of the InputError; it starts with the file's path, which is cut off."""
    path = written(folder, *rows)
    with pytest.raises(InputError) as caught:
        load_trace(path, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path)).lstrip(":, ")


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}
