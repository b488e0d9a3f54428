"""Every command says what a run left out, and does not count it: three prompts, a step of 0.33 s each."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sim
from sim.cli import app
from tests.commands.test_late import SCENARIO

WARM = ["--set", "replay.warm_start=shared-prefixes"]
FIRST = ["--set", "replay.warm_up_requests=1"]


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Prompts of 320 tokens of three sessions, of which the first 160 are the same."""
    rows = [
        {
            "session_id": name,
            "timestamp": 1000 * number,
            "input_length": 320,
            "output_length": 1,
            "hash_ids": [*range(10), *(100 * number + place for place in range(100, 110))],
        }
        for number, name in enumerate("abc")
    ]
    (tmp_path / "burst.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return str(file)


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result


def words(result: Result) -> str:
    return " ".join(result.stdout.split())


def test_the_page_says_how_many_and_how_many_tokens(source: str) -> None:
    """The prefix takes 0.17 s. The first prompt, which is left out, computes its other half, as all do."""
    page = words(call("run", source, *WARM, *FIRST))
    assert "2 requests: 2 completed" in page
    assert "of the 3 in the file" not in page
    assert (
        "left out: 1 warm-up request (160 prompt tokens, 160 computed, 170 ms), before the clock of the "
        "measured part started"
    ) in page
    assert "left out: the first 1 request (320 prompt tokens, 160 computed, 1.00 s)" in page
    assert "warm start: 1 prefix that two sessions share, sent at once, where the router chose" in page
    assert "320 prompt tokens computed, 320 required" in page


def test_json_has_it_and_a_folder_keeps_it(source: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = json.loads(call("run", source, *WARM, *FIRST, "--format", "json", "--out", str(out)).stdout)
    assert found["left_out"]["warm_up"]["requests"] == found["left_out"]["first"]["requests"] == 1
    assert found["prefill"]["required_tokens"] == found["prefill"]["computed_tokens"] == 320
    loaded = sim.load(out)
    assert loaded.to_dict() == found
    assert list(loaded.requests.sort_values("index")["phase"]) == ["first", "measured", "measured", "warm-up"]
    assert loaded.numbers["left_out.warm_up.prompt_tokens"] == 160
    assert "phase" in loaded.columns().index
    report = tmp_path / "report.html"
    call("report", str(out), "--out", str(report))
    assert "left out: 1 warm-up request (160 prompt tokens" in report.read_text()


def test_a_run_of_which_nothing_counts_says_so(source: str) -> None:
    result = CliRunner().invoke(app, ["run", source, "--set", "replay.warm_up_requests=9"])
    assert "! no request counts: all of the measured part are left out" in result.stdout


def test_a_run_that_leaves_nothing_out_says_nothing(source: str) -> None:
    assert "left out" not in call("run", source).stdout
    result = json.loads(call("run", source, "--format", "json").stdout)
    assert "left_out" not in result


def test_comparisons_sweeps_and_repeats_say_it(source: str) -> None:
    says = "requests served that count in no number, as warm-up or first ones, in every run: 2"
    other = Path(source).with_name("other.toml")
    other.write_text(SCENARIO)
    assert says in words(call("compare", source, str(other), *WARM, *FIRST))
    assert says in words(call("sweep", source, *WARM, *FIRST, "--set", "replay.speedup=1,2"))
    assert says in words(call("run", source, *WARM, *FIRST, "--repeat", "2"))


def test_a_smaller_run_of_too_many_sessions_ends_with_status_2(source: str) -> None:
    result = CliRunner().invoke(app, ["run", source, "--set", "replay.warm_sessions=9"])
    assert result.exit_code == 2
    assert "replay.warm_sessions = 9: burst.jsonl has 3 sessions" in result.stderr
