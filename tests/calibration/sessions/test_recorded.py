"""Recorded sessions in lengths, from both forms of the files."""

import gzip
import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from calibration.sessions.recorded import Session, read_sessions

REQUESTS = [
    # tokens, blocks as runs, output, start, service, types
    (200, [[1, 3]], 10, 0.0, 4.0, ["text"]),
    (330, [[1, 5]], 20, 10.0, None, ["tool_result"]),
    (400, [[1, 2], [9, 4]], 30, 40.0, 5.0, ["tool_result"]),
    (140, [[1, 2]], 40, 50.0, 2.5, ["text"]),
    (330, [[1, 5]], 50, 60.0, 1.0, ["tool_result"]),
]


def trace(name: str, *, runs: bool) -> dict[str, Any]:
    requests: list[dict[str, Any]] = [
        {"t": t, "type": "n", "in": tokens, "out": out, "input_types": types, "api_time": service}
        | ({"hash_runs": found} if runs else {"hash_ids": [i for s, n in found for i in range(s, s + n)]})
        for tokens, found, out, t, service, types in REQUESTS
    ]
    agent = {"t": 1.0, "type": "subagent", "requests": []}
    return {"id": name, "requests": [requests[0], agent, *requests[1:]]}


def check(session: Session) -> None:
    assert session.prompt.tolist() == [200, 330, 400, 140, 330]
    assert session.kept.tolist() == [0, 192, 128, 128, 128]
    assert session.seen.tolist() == [0, 192, 128, 128, 320]
    assert session.growth.tolist() == [130, 70, -260, 190]
    assert session.lost_blocks.tolist() == [0, 3, 4, 0]
    assert session.appends.tolist() == [True, False, False, True]
    assert session.shrinks.tolist() == [False, False, True, False]
    assert session.breaks.tolist() == [False, True, False, False]
    assert session.gap_s.tolist() == [10, 30, 10, 10]
    assert session.think_s[[0, 2, 3]].tolist() == [6, 5, 7.5]
    assert isnan(session.think_s[1])
    assert session.user.tolist() == [True, False, False, True, False]


def test_a_file_of_run_lengths_in_the_order_of_a_list(tmp_path: Path) -> None:
    file, names = tmp_path / "traces.jsonl.gz", tmp_path / "names.json"
    lines = [json.dumps(trace(name, runs=True)) for name in ("a", "b")]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    names.write_text('{"sessions_in_nested_order": ["b"]}')
    for session in (*read_sessions(file, None), *read_sessions(file, names)):
        check(session)
    assert len(read_sessions(file, names)) == 1


@pytest.mark.parametrize("names", [None, '["b", "a"]'])
def test_a_folder_of_the_files_upstream(tmp_path: Path, names: str | None) -> None:
    for name in ("a", "b"):
        (tmp_path / f"trace_{name}.json").write_text(json.dumps(trace(name, runs=False)))
    listed = tmp_path / "names.txt"
    listed.write_text(names or "[]")
    sessions = read_sessions(tmp_path, listed if names else None)
    assert len(sessions) == 2
    for session in sessions:
        check(session)
