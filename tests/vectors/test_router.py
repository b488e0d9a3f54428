"""The router core against recordings of the real one (Dynamo 1.5.0); a few of them are in data/."""

import json
from pathlib import Path

import pytest

from tests.vectors import router

RECORDED = Path(__file__).parent / "data" / "router"
SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "vectors" / "router"


def test_recorded_decisions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert router.main([str(RECORDED)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "240 of 240 decisions agree"
    assert "softmax distributions (chi-square, p >= 0.001): 8 of 8 agree" in printed
    assert "load states of KvRouter: 205 of 205 agree" in printed
    assert "decisions of KvRouter: 80 of 80 agree" in printed


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/vectors/router is not there")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "decisions"), [(SHARED, 3_378), (SHARED.parent / "router16", 3_149)], ids=["1.5", "1.6"]
)
def test_all_recorded_decisions_agree_and_nothing_is_skipped(
    folder: Path, decisions: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert router.main([str(folder)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert not [line for line in printed if "not replayed" in line]
    assert printed[-1] == f"{decisions} of {decisions} decisions agree"


@pytest.mark.skipif(not (SHARED / "fresh").is_dir(), reason="../shared/vectors/router/fresh is not there")
def test_decisions_of_random_configurations_agree(capsys: pytest.CaptureFixture[str]) -> None:
    """Fading blocks, ageing bookings, and KvRouter with KV events among them."""
    assert router.main([str(SHARED / "fresh")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "load states of ageing bookings: 23 of 23 agree",
        "load states of KvRouter: 583 of 583 agree",
        "decisions of KvRouter: 180 of 180 agree",
        "load states of SelectionService: 2269 of 2269 agree",
        "decisions of SelectionService: 660 of 660 agree",
        "840 of 840 decisions agree",
    ]


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
    assert "softmax distributions (chi-square, p >= 0.001): 0 of 1 agree" in capsys.readouterr().out


def test_a_certain_draw_agrees_and_an_impossible_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"op": "softmax", "router_temperature": 0.0, "costs": [1.0, 2.0], "draws": 100}
    for counts, status in (([100, 0], 0), ([99, 1], 1)):
        (tmp_path / "softmax.jsonl").write_text(json.dumps({**row, "counts": counts}))
        assert router.main([str(tmp_path)]) == status


AGEING = [
    {"t": 0.01, "op": "workers"},
    {"t": 1.0, "op": "book", "rid": "a", "rank": 1},
    {"t": 2.0, "op": "prefill_complete", "rid": "a", "rank": 1},
    {"t": 3.0, "op": "loads", "loads": [[0, 0, 0], [0, 2, 1]]},
    {"t": 32.0, "op": "book", "rid": "b", "rank": 1},
    {"t": 33.0, "op": "loads", "loads": [[0, 0, 0], [40, 2, 1]]},
]


def test_ageing_bookings_are_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for limit_s, status in ((5, 0), (40, 1)):
        path = tmp_path / f"expiry{limit_s}.jsonl"
        path.write_text("\n".join(map(json.dumps, AGEING)))
        assert router.main([str(tmp_path)]) == status
        path.unlink()
    printed = capsys.readouterr().out.splitlines()
    assert "load states of ageing bookings: 2 of 2 agree" in printed
    found = "expiry40.jsonl:6: loads: recorded [[0, 0, 0], [40, 2, 1]], ours [[0, 0, 0], [40, 2, 2]]"
    assert found in printed


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (
            [{"op": "block_hash"}] * 3,
            "x.jsonl: not replayed: the package xxhash is not here, 3 prompts",
        ),
        (
            [{"op": "scenario", "name": "s1", "config": {"router_star_sign": 1, "temperature": 1}}],
            "x.jsonl: not replayed: settings that the core does not have: star_sign",
        ),
    ],
)
def test_what_is_not_replayed_is_named_and_no_success_unless_allowed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rows: list[dict[str, object]],
    line: str,
) -> None:
    monkeypatch.setattr(router, "find_spec", lambda _: None)
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert router.main([str(tmp_path)]) == 2
    assert "no recording of the router that can be replayed" in capsys.readouterr().err
    certain = {"op": "softmax", "router_temperature": 0.0, "costs": [1.0], "draws": 1, "counts": [1]}
    (tmp_path / "softmax.jsonl").write_text(json.dumps(certain))
    (tmp_path / "notes.txt").write_text("")
    assert router.main([str(tmp_path)]) == 3
    assert router.main([str(tmp_path), "--allow-skipped"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [
        "not recordings, not looked at: notes.txt",
        line,
        "1 recordings not replayed",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no recording of the router that can be replayed"),
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
