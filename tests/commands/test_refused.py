"""What commands say where requests are refused, how many, why, what helps, and how they end."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from tests.scenarios import MINIMAL

# Coding-agent sessions grow far beyond this model's limit.
SESSIONS = MINIMAL + "\n[engine]\nmax_model_len = 23_000\n"


@pytest.fixture
def source(tmp_path: Path) -> str:
    file = tmp_path / "short.toml"
    file.write_text(SESSIONS, encoding="utf-8")
    return str(file)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(
        app, [*arguments, "--set", "workload.turns=4", "--set", "workload.window=first"]
    )


def words(result: Result) -> str:
    return " ".join(result.stdout.split())


LIMIT = "longer than max_model_len 23,000, the longest prompt "
HELPS = "what helps: raise engine.max_model_len"


def test_a_run_says_how_many_why_and_what_helps(source: str) -> None:
    result = call("run", source)
    assert result.exit_code == 0
    requests = json.loads(call("run", source, "--format", "json").stdout)["requests"]
    assert 0 < requests["rejected"] < requests["total"]
    some = f"{requests['rejected']} of {requests['total']} prompts, with the answer, "
    assert some in words(result)
    assert LIMIT in words(result)
    assert HELPS in words(result)


def test_repeats_say_it_over_all_runs_and_that_their_means_are_of_unlike_shares(source: str) -> None:
    shown = words(call("run", source, "--repeat", "3"))
    assert "prompts of 3 runs, with the answer, are longer than max_model_len 23,000" in shown
    assert "were not completed: means are over what each run completed" in shown


@pytest.mark.parametrize("metric", [(), ("--metric", "ttft_s.p50")])
def test_a_sweep_has_a_column_of_them(source: str, metric: tuple[str, ...]) -> None:
    result = call("sweep", source, "--set", "workers.count=1,2", "--jobs", "1", *metric)
    assert result.exit_code == 0
    assert "rejected" in result.stdout.split("!")[0]
    assert f"{LIMIT}" in words(result)
    assert "Requests rejected" in result.stderr


def test_a_comparison_has_a_row_of_them_and_names_the_scenario(source: str) -> None:
    result = call("compare", source, "llama8b-agg2", "--metric", "ttft_s.p50", "--jobs", "1")
    assert "Requests rejected" in result.stdout
    assert "! short: " in result.stdout
    assert "! llama8b-agg2: " not in words(result).partition("requests leave")[0]
    assert "were not completed: means are over what each run completed" in words(result)


def test_sizes_are_shown_with_what_they_refuse(source: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = call(
        "size", source, "--slo", "ttft_s.p95<5", "--max-gpus", "2", "--repeat", "1", "--jobs", "1",
        "--anyway", "--out", str(out),
    )  # fmt: skip
    assert result.exit_code == 0
    assert "So no cluster was tried" not in words(result)
    lines = [line.split() for line in result.stdout.splitlines()]
    header = next(line for line in lines if line[:2] == ["GPUs", "layout"])
    assert header[-2:] == ["not", "completed"]
    shown = [line for line in lines if line[:2] in (["1", "aggregated"], ["2", "aggregated"], ["2", "1P1D"])]
    assert len({line[-1] for line in shown}) == 1
    assert float(shown[0][-1]) > 0
    assert "a cluster holds only if every request completes; here none completes all" in words(result)
    assert LIMIT in words(result)
    content = json.loads((out / "size.json").read_text())
    assert content["smallest"] == []
    assert [row["holds_from_due"] for row in content["tried"]] == [False] * len(content["tried"])
    assert HELPS in content["warnings"][0]
    assert pq.read_table(out / "clusters.parquet")["not_completed"][0].as_py() > 0


def test_no_size_is_tried_where_none_completes_every_request(source: str) -> None:
    result = call("size", source, "--slo", "ttft_s.p95<5", "--max-gpus", "2", "--repeat", "1", "--jobs", "1")
    assert result.exit_code == 0
    assert "requests complete on no number of GPUs: " in words(result)
    assert LIMIT in words(result)
    assert HELPS in words(result)
    assert "So no cluster was tried; --anyway searches all the same." in words(result)
    assert "what clusters cost is found by trying" not in words(result)


@pytest.mark.parametrize("more", [(), ("--repeat", "2")])
def test_a_run_that_serves_nothing_is_a_message_with_status_3_and_is_kept(
    source: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    result = call("run", source, "--set", "engine.max_model_len=100", "--out", str(tmp_path / "out"), *more)
    assert result.exit_code == 3
    assert "No request was served: there is nothing to measure." in result.stdout
    assert "are longer than max_model_len 100" in words(result)
    assert "TTFT" not in result.stdout
    assert (tmp_path / "out" / "summary.json").is_file()
    if not more:
        assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 0
        assert "No request was served" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--set", "workers.count=1,2"),
        ("compare", "--repeat", "2"),
        ("size", "--slo", "ttft_s.p95<5", "--max-gpus", "1", "--repeat", "1"),
        ("size", "--slo", "ttft_s.p95<5", "--max-gpus", "1", "--repeat", "1", "--anyway"),
    ],
)
def test_commands_of_many_runs_that_serve_nothing_end_so_too(source: str, command: tuple[str, ...]) -> None:
    name, *more = command
    result = call(name, source, *more, "--set", "engine.max_model_len=100", "--jobs", "1")
    assert result.exit_code == 3, result.output
    assert "are longer than max_model_len 100" in words(result)
    if name != "size":
        assert "No request was served: there is nothing to measure." in result.stdout
        assert "TTFT" not in result.stdout
