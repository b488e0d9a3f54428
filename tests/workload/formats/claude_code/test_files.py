"""Which files are transcripts, what their streams are called, where they are on this machine."""

from pathlib import Path

import pytest

from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls, default_roots, files_of
from tests.workload.formats.claude_code.lines import by_name, pair, read, reply, side, user, write

AGENT = side([user("s1", None, "10:00:01"), reply("s2", "s1", "10:00:04", "m5", (5, 495, 0, 15))])


@pytest.mark.parametrize(
    "name",
    [
        "S/subagents/agent-X.jsonl",
        "S/subagents/workflows/W/agent-X.jsonl",
        "agent-X.jsonl",
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_a_sub_agent_is_a_stream_wherever_its_file_is(tmp_path: Path, name: str, *, told: bool) -> None:
    own = side(AGENT, "X") if told else AGENT
    found, _ = read(tmp_path, {"S.jsonl": pair(second=(2, 98, 990, 9)), name: own})
    assert [(call.stream, call.name) for call in found] == [
        *(("S", "m1"), (name.removesuffix(".jsonl"), "m5"), ("S", "m2"))
    ]


def test_a_session_that_is_empty_beside_its_sub_agents_leaves_these(tmp_path: Path) -> None:
    found, _ = read(tmp_path, {"S.jsonl": [], "S/subagents/agent-X.jsonl": side(AGENT, "X")})
    assert [(call.stream, call.name, call.waits_for) for call in found] == [("S/subagents/agent-X", "m5", ())]


def test_journals_and_the_history_are_no_transcripts(tmp_path: Path) -> None:
    names = {
        "history.jsonl": False,
        "p/S/subagents/workflows/W/journal.jsonl": False,
        "p/S.jsonl": True,
        "p/S/subagents/agent-X.jsonl": True,
        "p/journal.jsonl": True,
        "p/S.json": False,
    }
    write(tmp_path, {name: pair(second=(2, 98, 990, 9)) for name in names})
    assert files_of(tmp_path) == sorted(tmp_path / name for name, is_one in names.items() if is_one)


def test_sessions_of_one_name_in_two_projects_are_two(tmp_path: Path) -> None:
    second = [
        {**each, "uuid": f"{each['uuid']}x", "parentUuid": each["parentUuid"] and f"{each['parentUuid']}x"}
        for each in pair(second=(2, 98, 990, 9))
    ]
    for row in second:
        if row["type"] == "assistant":
            row["message"] = row["message"] | {"id": row["message"]["id"] + "x"}
    found, _ = read(tmp_path, {"one/S.jsonl": pair(second=(2, 98, 990, 9)), "two/S.jsonl": second})
    assert {name: call.stream for name, call in by_name(found).items()} == {
        **{"m1": "one/S", "m2": "one/S", "m1x": "two/S", "m2x": "two/S"}
    }


def test_several_paths_are_read_as_one(tmp_path: Path) -> None:
    write(tmp_path, {"S.jsonl": pair(second=(2, 98, 990, 9)), "S/subagents/agent-X.jsonl": side(AGENT, "X")})
    paths = [tmp_path / "S.jsonl", tmp_path / "S"]
    assert calls(paths, Findings()) == calls([*reversed(paths), tmp_path], Findings())


def test_the_folders_of_this_machine(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home / ".claude/projects", home / ".config/claude/projects", other / "projects"):
        folder.mkdir(parents=True)
    environ = {"HOME": str(home)}
    assert default_roots(environ) == [home / ".claude/projects", home / ".config/claude/projects"]
    environ["CLAUDE_CONFIG_DIR"] = f"{other}, {other / 'projects'},{tmp_path / 'none'}"
    assert default_roots(environ) == [other / "projects", other / "projects"]
    assert default_roots({"HOME": str(tmp_path / "nobody")}) == []
