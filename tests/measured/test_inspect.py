"""`sim measured inspect`: what it prints, and how bad input ends."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from sim.cli import app
from tests.measured.small_run import SMALL, bench, copy


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["measured", "inspect", *arguments], terminal_width=100)


def test_it_prints_what_the_files_hold() -> None:
    result = call(str(SMALL))
    assert result.exit_code == 0
    for text in (
        "3 requests of 2 sessions: 3 completed",
        "Recomputation 31.4 %  134 prompt tokens computed, 102 required",
        "32 of them only on other workers, 0 evicted here",
        "computed                     134  89.3 %",
        "worker1         2   320        94   16",
        "3, 1 of them ties; the cheapest taken 3 of 3 times",
        "16 tokens; equal in 3 of 3 requests",
        "worker0, worker1 (before and after)",
    ):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_is_the_summary() -> None:
    result = call(str(SMALL), "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema_version"] == 1
    assert found["prefill"]["recomputed_tokens"] == 32
    assert {"name": "bench.json", "role": "bench", "target": None, "moment": None} in found["files"]


def test_every_part_may_be_missing(tmp_path: Path) -> None:
    for path in SMALL.iterdir():
        if path.name == "README.md":
            continue
        folder = tmp_path / path.stem
        folder.mkdir()
        (folder / path.name).write_bytes(path.read_bytes())
        result = call(str(folder))
        assert (result.exit_code, result.stderr) == (0, "")
        assert path.stem in result.stdout


def test_totals_of_the_client_are_shown_as_it_stated_them(tmp_path: Path) -> None:
    totals = {key: value for key, value in bench().items() if not isinstance(value, list)}
    (tmp_path / "bench.json").write_text(json.dumps(totals), encoding="utf-8")
    result = call(str(tmp_path))
    assert "TTFT      200 ms   298 ms" in result.stdout


def test_a_damaged_metrics_file_is_not_passed_over(tmp_path: Path) -> None:
    text = (SMALL / "metrics-after.worker0.prom").read_text(encoding="utf-8").replace("} 45", "} forty")
    result = call(str(copy(tmp_path / "run", metrics_after_worker0_prom=text)))
    assert result.exit_code == 2
    assert "metrics-after.worker0.prom: line 6: 'vllm:prompt_tokens_total" in result.stderr


def test_bad_input_ends_with_2_and_names_file_and_line(tmp_path: Path) -> None:
    result = call(str(copy(tmp_path / "run", usage_jsonl='{"id": "req-0", "usage": {}}\n')))
    assert result.exit_code == 2
    assert "usage.jsonl, line 1: usage.prompt_tokens is missing" in result.stderr
    assert result.stdout == ""
    assert call(str(tmp_path / "absent")).exit_code == 2
