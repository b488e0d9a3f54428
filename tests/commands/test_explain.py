"""`sim explain`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.simulation.result import RunResult

SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=3")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain") / "run"
    assert call("run", "2p6d", *SMALL, "--out", str(folder)).exit_code == 0
    return folder


def test_a_request_is_named_by_index_or_by_session_and_turn(saved: Path) -> None:
    requests = RunResult.load(saved).requests.set_index("index")
    by_index = call("explain", str(saved), "3")
    by_turn = call("explain", str(saved), f"{requests.loc[3, 'session']}:{requests.loc[3, 'turn']}")
    assert by_index.exit_code == by_turn.exit_code == 0
    assert by_index.stdout == by_turn.stdout
    assert by_index.stdout.startswith("Request 3: session talk-")
    assert "Prefill leg: to a worker that computes the prompt" in by_index.stdout
    assert "Decode leg: to a worker that computes the answer" in by_index.stdout
    assert max(map(len, by_index.stdout.splitlines())) <= 100


def test_json_has_every_term(saved: Path) -> None:
    content = json.loads(call("explain", str(saved), "0", "--format", "json").stdout)
    assert content["request"]["index"] == 0
    prefill, decode = content["choices"]
    assert [len(choice["candidates"]) for choice in (prefill, decode)] == [2, 6]
    assert prefill["chosen"] == content["request"]["worker"]
    assert decode["chosen"] == content["request"]["decode_worker"]
    assert content["fewest"]["expected_tokens"] == 0


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("6", "request 6: there is none; indices go from 0 to 5"),
        ("talk-9:0", "no session is called 'talk-9'"),
    ],
)
def test_an_unknown_request_is_a_message(saved: Path, request_: str, message: str) -> None:
    result = call("explain", str(saved), request_)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def test_a_run_without_decisions_cannot_be_explained(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    assert call("run", "agg4", *SMALL, "--set", "output.tables=[]", "--out", out).exit_code == 0
    result = call("explain", out, "0")
    assert result.exit_code == 2
    assert "has no table of decisions; output.tables of its scenario says" in result.stderr


def test_a_folder_that_is_not_there_is_told() -> None:
    assert call("explain", "nowhere", "0").stderr == "Error: nowhere: no such folder\n"
