"""The engine core against recordings of the real scheduler (vLLM 0.28.0 and 0.33.0); a few are in data/."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import vllm

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).parent / "data" / "vllm"
ALL_RECORDED = ROOT / ".." / "shared" / "vectors" / "vllm"

Row = dict[str, Any]


def command(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker as a user does; it sees to the hash seed itself."""
    return subprocess.run(
        [sys.executable, "-m", "tests.vectors.vllm", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_recorded_decisions_agree() -> None:
    run = command(RECORDED)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[-1] == "3756 of 3756 decisions agree"


def test_recorded_decisions_of_0_33_agree() -> None:
    run = command(RECORDED.parent / "vllm33")
    assert (run.returncode, run.stderr) == (0, "")
    agree, _, compared, *_ = run.stdout.splitlines()[-1].split()
    assert agree == compared


def test_rules_of_the_other_release_do_not_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = RECORDED.parent / "vllm33" / "hyb_interval_of_states_async.jsonl"
    (tmp_path / path.name).write_text(path.read_text().replace('"vllm":"0.33.0"', '"vllm":"0.28.0"'))
    assert vllm.main([str(tmp_path)]) == 1
    assert "recorded" in capsys.readouterr().out


@pytest.mark.skipif(not ALL_RECORDED.is_dir(), reason="../shared/vectors/vllm is not there")
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["vllm", "vllm/fresh", "vllm-windows", "vllm33"])
def test_all_recorded_decisions_agree(folder: str) -> None:
    run = command(ALL_RECORDED.parent / folder)
    assert run.returncode == 0, run.stdout
    agree, _, compared, *_ = run.stdout.splitlines()[-1].split()
    assert agree == compared


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]


def write(folder: Path, rows: list[Row], name: str = "full_x") -> None:
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def a_step(rows: list[Row], key: str) -> Row:
    return next(row for row in rows if row["k"] == "step" and row.get(key))


def alter(key: str, value: Callable[[Any], Any]) -> Callable[[list[Row]], None]:
    def change(rows: list[Row]) -> None:
        step = a_step(rows, key)
        step[key] = value(step[key])

    return change


def alter_request(key: str) -> Callable[[list[Row]], None]:
    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["k"] == "req")[key] += 1

    return change


ALTERATIONS: dict[str, Callable[[list[Row]], None]] = {
    "sched": alter("sched", lambda sched: [[sched[0][0], sched[0][1] + 1], *sched[1:]]),
    "free": alter("free", lambda free: free - 1),
    "free2": alter("free2", lambda free: free + 1),
    "run": alter("run", lambda running: running + 1),
    "wait": alter("wait", lambda waiting: waiting + 1),
    "upd": alter("upd", lambda number: number + 1),
    "ev": alter("ev", lambda events: events[1:]),
    "fin": alter("fin", lambda names: []),
    "load": alter("load", lambda jobs: [[*jobs[0][:3], [jobs[0][3][0] + 1]]]),
    "store": alter("store", lambda jobs: [[jobs[0][0] + 1, *jobs[0][1:]]]),
    "flush": alter("flush", lambda jobs: []),
    "done": alter("done", lambda jobs: jobs[1:]),
    "ord": alter("ord", lambda orders: [[orders[0][0], orders[0][1][1:]], *orders[1:]]),
    "cpu": alter("cpu", lambda blocks: blocks - 1),
    **{
        key: alter_request(key)
        for key in ("local", "ext", "computed", "created", "preempt", "first_sched", "first_token", "finish")
    },
}


@pytest.mark.parametrize("key", ALTERATIONS)
def test_an_altered_value_is_noticed(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("full_store_while_loading_async")
    ALTERATIONS[key](rows)
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"{key}: recorded" in printed
    agree, _, compared, *_ = printed.splitlines()[-1].split()
    assert int(agree) < int(compared)


def alter_of(engine: str, key: str, value: Callable[[Any], Any]) -> Callable[[list[Row]], None]:
    def change(rows: list[Row]) -> None:
        row = next(row for row in rows if row.get("e") == engine and row.get(key))
        row[key] = value(row[key])

    return change


PAIR_ALTERATIONS: dict[str, Callable[[list[Row]], None]] = {
    "ask": alter_of("P", "ask", lambda asks: [[*asks[0][:2], 1], *asks[1:]]),
    "pull": alter_of("D", "pull", lambda pulls: [[pulls[0][0], pulls[0][1], [0, 0, 0, 0]], *pulls[1:]]),
    "recvd": alter_of("D", "recvd", lambda names: names[1:]),
    "sent": alter_of("P", "sent", lambda names: []),
    "hold": alter_of("P", "hold", lambda blocks: [0, *blocks[1:]]),
    "prompt_eff": alter_of("P", "prompt_eff", lambda tokens: tokens + 1),
    "load": alter_of("P", "load", lambda jobs: []),
    "free": alter_of("D", "free", lambda free: free + 1),
    "tick": alter_of("D", "tick", lambda tick: tick - 1),
}


@pytest.mark.parametrize("key", PAIR_ALTERATIONS)
def test_an_altered_value_of_a_pair_is_noticed(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of("pdmc_hyb_ask_later_offload_first_sync")
    PAIR_ALTERATIONS[key](rows)
    write(tmp_path, rows, "pdmc_x")
    assert vllm.main([str(tmp_path)]) == 1
    assert f"{key}: recorded" in capsys.readouterr().out


def test_an_altered_preemption_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("hyb120_cpu300_preempt_async")
    del a_step(rows, "pre")["pre"]
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1
    assert "pre: recorded []" in capsys.readouterr().out


@pytest.mark.parametrize("last", [True, False])
def test_a_missing_step_is_noticed(last: bool, tmp_path: Path) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    rows.remove([row for row in rows if row["k"] == "step"][-1 if last else 5])
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1


def test_a_step_too_many_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    write(tmp_path, [*rows, {**rows[-1], "i": 99}])
    assert vllm.main([str(tmp_path)]) == 1
    assert "step 99: not predicted" in capsys.readouterr().out


def test_a_request_that_was_never_recorded_is_noticed(tmp_path: Path) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    rows.remove(next(row for row in rows if row["k"] == "req"))
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1


def test_an_unknown_key_is_not_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    next(row for row in rows if row["k"] == "step")["colour"] = "blue"
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1
    assert "colour: recorded blue, predicted nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs settings, steps and requests"),
        ('{"k":"cfg"', "line 1 is not JSON"),
        ("[1]", "line 1: no object"),
        ('{"k":"tick"}', "line 1: no object"),
        ('{"k":"cfg","groups":[]}', "needs settings, steps and requests"),
    ],
)
def test_a_broken_file_disagrees_and_the_others_go_on(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full_broken.jsonl").write_text(text)
    write(tmp_path, rows_of("hyb_duplicate_checkpoint_sync"), "hyb_whole")
    assert vllm.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert message in printed
    assert "full_broken.jsonl: 0 of 1 steps and requests agree" in printed
    assert printed.splitlines()[-1] == "30 of 31 decisions agree"


def test_an_exception_in_the_middle_is_a_disagreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    for row in rows:
        if row["k"] == "req":
            row["blocks"] = []  # a full block without an identity
    write(tmp_path, rows)
    assert vllm.main([str(tmp_path)]) == 1
    assert "exception after 0 of 26 steps: IndexError" in capsys.readouterr().out


def test_what_is_not_replayed_is_named_and_no_success_unless_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of("hyb_duplicate_checkpoint_sync")
    write(tmp_path, rows, "hyb_whole")
    write(tmp_path, [{"k": "cfg"}], "other_x")
    write(tmp_path, [rows[0] | {"num_blocks_d": 9}, *rows[1:]], "full_x")
    assert vllm.main([str(tmp_path)]) == 3
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "full_x.jsonl: not replayed: settings that the core does not have: num_blocks_d",
        "other_x.jsonl: not replayed: recordings of what is modelled are named "
        "full_*, hyb*, win_*, spec_*, pd_*, pdmc_*, pdwin_*, pdspec_*",
        "2 recordings not replayed",
        "30 of 30 decisions agree",
    ]
    assert vllm.main([str(tmp_path), "--allow-skipped"]) == 0


@pytest.mark.parametrize(("setting", "value"), [("watermark", 0.5), ("long_prefill_token_threshold", 16)])
def test_settings_of_a_pair_are_not_ignored(setting: str, value: float, tmp_path: Path) -> None:
    rows = rows_of("pdmc_hyb_decode_preempt_async")
    rows[0][setting] = value
    write(tmp_path, rows, "pdmc_x")
    assert vllm.main([str(tmp_path)]) == 1


def test_nothing_to_replay_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vllm.main([str(tmp_path)]) == 2
    assert "no recording of an engine that can be replayed" in capsys.readouterr().err
    assert vllm.main([str(tmp_path / "absent")]) == 2
    assert vllm.main([]) == 2
    assert "usage: python -m tests.vectors.vllm DIR" in capsys.readouterr().err
