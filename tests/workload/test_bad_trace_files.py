"""What is refused about a trace file, and how: file, line, key, value, and what is allowed."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.cluster.client import make_client
from sim.events.clock import Clock
from sim.workload.settings import ReplaySettings
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, ROW, SHARED_TRACES, load, needs_shared, refusal, without


def test_fewer_ids_than_the_length_needs_never_shorten_a_prompt(tmp_path: Path) -> None:
    message = refusal(tmp_path, ROW, ROW | {"input_length": 640, "hash_ids": [1]}, chunk_tokens=512)
    assert message == (
        "line 2: input_length = 640 needs 2 hash_ids of 512 tokens (the last may stand for fewer), "
        "but there are 1"
    )


def test_rows_that_hold_only_what_a_turn_adds_are_refused_unless_said_to_be_full(
    tmp_path: Path,
) -> None:
    rows = (
        ROW | {"session_id": "a"},
        {"session_id": "a", "delay": 100, "input_length": 300, "output_length": 5, "hash_ids": [7]},
    )
    assert "1 of 1 later turns start with another hash id" in refusal(tmp_path, *rows, format="mooncake")
    assert 'set format = "mooncake-delta"' in refusal(tmp_path, *rows, format="mooncake")
    # Prompts that only grow may be conversations without a common word.
    assert 'set format = "mooncake-delta"' in refusal(
        tmp_path, rows[0], rows[1] | {"input_length": 1024, "hash_ids": [7, 8]}
    )
    # One that begins with other ids and has some of before was edited, or compacted.
    assert 'set format = "mooncake-delta"' in refusal(
        tmp_path, rows[0], rows[1] | {"hash_ids": [2]}, chunk_tokens=512
    )
    notes = load(tmp_path, *rows, full_prompts=True).notes
    assert any("taken as full prompts" in note for note in notes)


def test_a_compacted_conversation_is_no_delta(tmp_path: Path) -> None:
    rows = [ROW | {"session_id": "a", "hash_ids": ids} for ids in ([1, 2], [1, 3], [1, 4], [5, 6])]
    assert len(load(tmp_path, *rows).requests) == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{bad", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        ('{"timestamp": 0, "input_length": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[1, 2]", "a list: every line must hold one JSON object"),
        (without("input_length"), "input_length is missing"),
        (without("output_length"), "output_length is missing"),
        (without("hash_ids"), "hash_ids is missing: without it no reuse of prefixes can be simulated"),
        (without("timestamp"), "timestamp is missing: the first row of a session needs one"),
        (
            ROW | {"input_length": 0},
            "input_length = 0: must be a whole number of tokens from 1 to 1,000,000,000",
        ),
        (ROW | {"input_length": -1000}, "input_length = -1000: must be a whole number"),
        (ROW | {"input_length": "1000"}, "input_length = '1000': must be a whole number"),
        (ROW | {"input_length": True}, "input_length = True: must be a whole number"),
        (ROW | {"input_length": 10**30}, "input_length = 1000000000000000000000000000000: must be"),
        (ROW | {"output_length": -1}, "output_length = -1: must be a whole number of tokens from 0"),
        (ROW | {"output_length": 1.5}, "output_length = 1.5: must be a whole number"),
        (ROW | {"timestamp": "0"}, "timestamp = '0': must be a finite number from -1e+15"),
        (ROW | {"timestamp": float("nan")}, "timestamp = nan: must be a finite number"),
        (ROW | {"timestamp": float("inf")}, "timestamp = inf: must be a finite number"),
        (ROW | {"timestamp": 10**400}, "timestamp = 1000000"),
        (ROW | {"delay": -1}, "delay = -1: must be a finite number from 0 to 1e+15"),
        (ROW | {"session_id": ["a"]}, "session_id = ['a']: must be a string or a whole number"),
        (ROW | {"hash_ids": []}, "hash_ids = []: must be a list of whole numbers, one for every chunk"),
        (ROW | {"hash_ids": 7}, "hash_ids = 7: must be a list"),
        (ROW | {"hash_ids": "x" * 500}, "hash_ids = 'xxx"),
        (
            ROW | {"hash_ids": ["a", "b"]},
            "hash_ids holds 'a': every id must be a whole number from 0 to 2^64 - 1",
        ),
        (ROW | {"hash_ids": [1, -2]}, "hash_ids holds -2"),
        (ROW | {"hash_ids": [1, 2.0]}, "hash_ids holds 2.0"),
        (ROW | {"hash_ids": [1, True]}, "hash_ids holds True"),
        (ROW | {"hash_ids": [1, 2**64]}, "hash_ids holds 18446744073709551616"),
        ({"num_turns": 2}, 'key "num_turns" belongs to Dynamo\'s applied_compute_agentic format'),
    ],
)
def test_a_bad_row_is_named_with_line_key_and_value(
    tmp_path: Path, row: dict[str, Any] | str | bytes, message: str
) -> None:
    text = refusal(tmp_path, ROW, "", row)
    assert text.startswith(f"line 3: {message}")
    assert len(text) < 300


def test_a_session_that_goes_back_in_time_is_refused(tmp_path: Path) -> None:
    row = ROW | {"session_id": "a"}
    assert refusal(tmp_path, row | {"timestamp": 2000}, row | {"timestamp": 1000}) == (
        "line 2: timestamp = 1000 of session a lies before 2000 in line 1: "
        "the rows of a session are its turns in order"
    )


def test_all_problems_are_listed_up_to_ten(tmp_path: Path) -> None:
    _, *two = refusal(tmp_path, ROW | {"input_length": 0}, ROW, "{").splitlines()
    assert [line.strip()[:6] for line in two] == ["line 1", "line 3"]
    _, *many = refusal(tmp_path, *["{"] * 50).splitlines()
    assert len(many) == 11
    assert many[-1].strip() == "and perhaps more"


@pytest.mark.parametrize("content", [b"", b"\n\n", gzip.compress(b"", mtime=0)])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"empty.jsonl: holds no row"):
        load_trace(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress((DATA / "sessions.jsonl").read_bytes())[:-20])
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(b"\x1f\x8b" + b"x" * 50)
    for path in (cut, damaged, tmp_path, tmp_path / "absent.jsonl"):
        with pytest.raises(InputError, match="cannot be read") as caught:
            load_trace(path)
        assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("option", ["chunk_tokens", "sessions", "sec_multiplier"])
def test_options_must_be_above_0(tmp_path: Path, option: str) -> None:
    with pytest.raises(InputError, match=f"{option} = 0: must be a finite number above 0"):
        load(tmp_path, ROW, **{option: 0})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"timestamp": 0}, {"timestamp": 1e15}],
            "line 2: timestamp = 1000000000000000 is more than 1e+09 s after the first, 0; is its unit",
        ),
        (
            [{"timestamp": -1e15}, {"timestamp": 0}],
            "line 2: timestamp = 0 is more than 1e+09 s after the first",
        ),
        (
            [{"session_id": "a"}, {"session_id": "a", "delay": 9e11}, {"session_id": "a", "delay": 2e11}],
            "line 2: delay = 900000000000: the delays of session a are more than 1e+09 s together",
        ),
    ],
)
def test_times_beyond_all_proportion_are_refused_with_their_line(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    assert message in refusal(tmp_path, *(ROW | row for row in rows))


def test_times_of_a_clock_are_re_based_before_they_are_judged(tmp_path: Path) -> None:
    rows = [ROW | {"timestamp": 1779163050197 + i} for i in range(2)]
    assert [r.timestamp_s for r in load(tmp_path, *rows).requests] == [0.0, 0.001]


def test_a_key_twice_in_a_row_is_refused_with_its_line(tmp_path: Path) -> None:
    twice = json.dumps(ROW).replace("{", '{"input_length": 7, ')
    assert refusal(tmp_path, ROW, twice) == "line 2: key 'input_length' is given twice"


def test_a_turn_without_a_timestamp_is_named_with_file_and_line_where_one_is_needed(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW | {"session_id": "a"}, "", ROW | {"session_id": "a", "timestamp": None})
    for client in ("open-loop", "max-concurrency"):
        with pytest.raises(
            InputError, match=r"^trace\.jsonl, line 3: request 1 \(session a, turn 1\) has no"
        ):
            make_client(Clock(), trace, ReplaySettings(client=client), lambda _: None)


def test_a_line_of_many_megabytes_and_a_million_blank_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress(b'{"hash_ids": [' + b"1," * (33 << 20)))
    with pytest.raises(InputError, match=r"line 1: is longer than 64 MiB"):
        load_trace(path)
    path.write_bytes(gzip.compress(b"\n" * 1_100_000))
    with pytest.raises(InputError, match=r"line 1000001: 1,000,001 lines are blank"):
        load_trace(path)


HOSTILE = {
    "acagent": "belongs to Dynamo's applied_compute_agentic",
    "agentic_cycle": ": rows wait for each other in a circle: line 1 -> line 2 -> line 1",
    "agentic_unknown": "line 2: wait_for holds 'zzz': no row has this request_id",
    "empty": "holds no row",
    "garbage": "line 2: not valid JSON",
    "negid": "line 1: hash_ids holds -1",
    "nohash": "line 1: hash_ids is missing",
    "noinput": "line 1: input_length is missing",
    "noout": "line 1: output_length is missing",
    "nots": "line 1: timestamp is missing",
    "sess_tsback": "line 2: timestamp = 1000 of session a lies before 2000",
}
"""What is refused, and why; everything else in the folder can be read."""

NOTED = {
    "agentic_dupid": "repeat an earlier one, request_id and all: 1",
    "delta": "read as mooncake-delta",
    "floor": 'read as hash_rounding = "floor"',
    "toofew": 'read as hash_rounding = "floor"',
    "blank": "blank lines skipped: 1",
    "negts": "re-based: the first, -5,",
    "offset": "re-based: the first, 1178625,",
    "sess_nots2": "later turns without a delay",
    "sess_ts": "later turns without a delay",
    "toomany": "more hash_ids than their input_length needs",
    "unsorted": "rows sorted by timestamp",
    "zeroout": "output_length 0, taken as 1",
}


@needs_shared
def test_every_hostile_file_is_refused_or_read_as_it_must() -> None:
    files = sorted((SHARED_TRACES / "hostile").glob("*.jsonl"))
    assert files
    for path in files:
        name = path.stem.removeprefix("probe_")
        with suppress(InputError):
            load_trace(path)
        if name in HOSTILE:
            with pytest.raises(InputError) as caught:
                load_trace(path, chunk_tokens=512)
            assert HOSTILE[name] in str(caught.value)
        else:
            notes = load_trace(path, chunk_tokens=512).notes
            assert NOTED.get(name, "") in "; ".join(notes)
