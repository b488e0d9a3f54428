"""The router core against recordings of the real one (Dynamo 1.5.0); a few of them are in data/."""

import json
from pathlib import Path

import pytest

from tests.vectors import router

RECORDED = Path(__file__).parent / "data" / "router"
ALL_RECORDED = Path(__file__).resolve().parents[2] / ".." / "shared" / "vectors" / "router"


def test_recorded_decisions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert router.main([str(RECORDED)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "160 of 160 decisions agree"
    assert printed[0].startswith("8 of 8 softmax distributions agree")
    assert printed[1] == "KvRouter: 205 of 205 load states agree, 80 of 80 decisions agree"


@pytest.mark.skipif(not ALL_RECORDED.is_dir(), reason="../shared/vectors/router is not there")
def test_all_recorded_decisions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert router.main([str(ALL_RECORDED)]) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("chosen", [0, 0]),
        ("potential_decode_blocks", [0] * 5),
        ("device_blocks", [1] * 5),
        ("effective_prefill_tokens", 1),
        ("before", {}),
    ],
)
def test_a_changed_recording_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, value: object
) -> None:
    lines = (RECORDED / "s21.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    where, row = next(
        (i, row)
        for i, row in enumerate(rows)
        if row["op"] == "select_and_reserve"
        and row["chosen"] != [0, 0]
        and row["before"]["active_requests"][0]
    )
    row[field] = value
    lines[where] = json.dumps(row)
    (tmp_path / "s21.jsonl").write_text("\n".join(lines))
    assert router.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"s21.jsonl:{where + 1}: {field}: recorded" in printed
    assert printed.splitlines()[-1] != "80 of 80 decisions agree"


def test_a_changed_log_line_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (RECORDED / "s20.jsonl").read_text().splitlines()
    where = next(i for i, line in enumerate(lines) if '"logged"' in line)
    row = json.loads(lines[where])
    row["logged"]["raw_prefill_blocks"][0] += 0.002
    row["logged"]["selected_logit"] += 2e-9
    lines[where] = json.dumps(row)
    (tmp_path / "s20.jsonl").write_text("\n".join(lines))
    assert router.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "raw_prefill_blocks: recorded" in printed
    assert "selected_logit: recorded" in printed


def test_a_changed_decode_form_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cost of KvRouter's decode workers for a request whose prefill is not tracked."""
    (tmp_path / "softmax.jsonl").write_bytes((RECORDED / "softmax.jsonl").read_bytes())
    lines = (RECORDED / "k07.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    where, row = next(
        (i, row)
        for i, row in enumerate(rows)
        if row.get("logged", {}).get("kind") == "Decode formula" and any(row["device_blocks"])
    )
    row["logged"]["cost"] = row["logged"]["decode_blocks"]
    row["returned_overlap_blocks"] += 1
    lines[where] = json.dumps(row)
    (tmp_path / "k07.jsonl").write_text("\n".join(lines))
    assert router.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"k07.jsonl:{where + 1}: cost: recorded" in printed
    assert f"k07.jsonl:{where + 1}: returned_overlap_blocks: recorded" in printed
    assert "79 of 80 decisions agree" in printed


def test_another_distribution_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"op": "softmax", "router_temperature": 1.0, "costs": [1.0, 2.0], "draws": 6000}
    (tmp_path / "softmax.jsonl").write_text(json.dumps({**row, "counts": [3000, 3000]}))
    assert router.main([str(tmp_path)]) == 1
    assert "0 of 1 softmax distributions agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no file s*.jsonl"),
        ('{"op": "scenario"', "s01.jsonl:1: not a JSON"),
        ('{"op": "select"}', "op is"),
    ],
)
def test_nothing_to_replay_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "s01.jsonl").write_text(text)
    assert router.main([str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
