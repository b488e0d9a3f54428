"""What must hold of any transcripts: calls in order, the same whichever way their lines were written."""

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls
from sim.workload.lowering import rows_of
from tests.workload.formats.claude_code.lines import Line, boundary, line, notice, reply, side, user, write

few = settings(max_examples=15, deadline=None)
Files = dict[str, list[Line]]


class _Writer:
    """Writes what an agent does from what is drawn."""

    def __init__(self, draw: st.DrawFn, name: str, start_s: int) -> None:
        self.draw, self.name, self.now_s = draw, name, start_s
        self.lines: list[Line] = []
        self.ends: list[tuple[str, int, int]] = []
        """Rows that may be gone on from, with the prompt and what was cached."""

    def id(self) -> str:
        return f"{self.name}{len(self.lines)}"

    def at(self) -> str:
        self.now_s += self.draw(st.integers(-3, 400))
        seconds = max(self.now_s, 0) % 86_400
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    def turn(self, tool: str | None = None, result: str | None = None) -> None:
        before, total, cached = self.draw(st.sampled_from(self.ends[-3:])) if self.ends else (None, 0, 0)
        asked = user(self.id(), before, self.at(), result=result)
        self.lines.append(asked)
        grown = max(total + self.draw(st.integers(-50, 400)), 1)
        read = self.draw(st.sampled_from([0, cached, cached // 2]))
        created = min(max(grown - read, 0), self.draw(st.integers(0, 500)))
        counts = (max(grown - read - created, 0), created, read, self.draw(st.integers(0, 90)))
        message, parent = f"m{self.id()}", str(asked["uuid"])
        for _ in range(self.draw(st.integers(1, 3))):
            self.lines.append(reply(self.id(), parent, self.at(), message, counts, tool=tool))
            parent = str(self.lines[-1]["uuid"])
        self.ends.append((parent, sum(counts[:3]), read + created))

    def compact(self) -> None:
        if self.ends:
            self.lines.append(
                boundary(self.id(), self.ends[-1][0], self.at(), preTokens=self.ends[-1][1] + 1)
            )
            self.ends = [(str(self.lines[-1]["uuid"]), 1, 0)]


@st.composite
def folders(draw: st.DrawFn) -> Files:
    """Some sessions, with sub-agents, compactions, turns taken back, and clocks that go wrong."""
    files: Files = {}
    for number in range(draw(st.integers(1, 2))):
        session = _Writer(draw, f"S{number}x", draw(st.integers(0, 5000)))
        for what in draw(st.lists(st.sampled_from("ttttcabn"), min_size=1, max_size=7)):
            if what == "c":
                session.compact()
            elif what in "ab":
                tool, agent = f"t{session.id()}", f"A{session.id()}"
                session.turn(tool)
                other = _Writer(draw, agent, session.now_s)
                for _ in range(draw(st.integers(1, 2))):
                    other.turn()
                files[f"S{number}/subagents/agent-{agent}.jsonl"] = side(other.lines, agent)
                session.turn(result=tool)
                session.lines[-2]["toolUseResult"] = {"agentId": agent, "isAsync": what == "b"}
                session.lines.append(notice(session.at(), tool))
            elif what == "n":
                session.lines.append(line("attachment", session.id(), None, session.at()))
            else:
                session.turn()
        files[f"S{number}.jsonl"] = [each | {"sessionId": f"S{number}"} for each in session.lines]
    return files


def read(files: Mapping[str, list[Line]], order: random.Random | None = None) -> list[Call]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files)
        paths = [Path(folder, name) for name in files]
        if order is not None:
            order.shuffle(paths)
        return (
            calls(paths if order is not None else [Path(folder)], Findings()) if any(has_reply(files)) else []
        )


def has_reply(files: Mapping[str, list[Line]]) -> list[bool]:
    found = (each.get("message", {}).get("usage") for lines in files.values() for each in lines)
    return [any(usage.values()) for usage in found if usage]


def without_lines(found: list[Call]) -> list[str]:
    for call in found:
        call.line = 0
    return [*map(repr, found)]


@few
@given(folders())
def test_calls_are_in_order_and_refer_to_earlier_ones(files: Files) -> None:
    found = read(files)
    latest: dict[str, float] = {}
    assert [call.send_s or 0.0 for call in found] == sorted(call.send_s or 0.0 for call in found)
    for number, call in enumerate(found):
        send_s = call.send_s or 0.0
        assert latest.get(call.stream, 0.0) <= send_s <= (call.end_s or 0.0)
        latest[call.stream] = send_s
        assert all(each < number for each in call.waits_for)
        assert 0 <= call.kept_tokens <= call.prompt_tokens
        assert (call.group is None) == (call.parent is not None) or call.name.startswith("compact:")
        if call.parent is not None:
            before = found[call.parent]
            assert call.parent < number
            assert call.kept_tokens <= before.prompt_tokens
            assert call.answer_tokens in (0, before.output_tokens)
            if call.answer_tokens:
                assert call.kept_tokens == before.prompt_tokens
                assert before.prompt_tokens + call.answer_tokens <= call.prompt_tokens
    assert len({call.name for call in found}) == len(found)
    assert len(rows_of(found, 64)) == len(found)


@few
@given(folders(), st.randoms(use_true_random=False))
def test_neither_the_order_of_files_nor_lines_that_are_there_twice_change_anything(
    files: Files, order: random.Random
) -> None:
    found = without_lines(read(files))
    assert without_lines(read(files, order)) == found
    twice = {
        name: [copy for each in lines for copy in [each] * (order.randrange(2) + 1)]
        for name, lines in files.items()
    }
    for lines in twice.values():
        lines += [each for each in lines if each.get("uuid") and order.random() < 0.3]
    assert without_lines(read(twice)) == found


@few
@given(folders(), st.randoms(use_true_random=False))
def test_in_how_many_rows_an_answer_was_written_changes_nothing(files: Files, order: random.Random) -> None:
    split: Files = {}
    for name, lines in files.items():
        split[name] = []
        for each in lines:
            if each["type"] == "assistant" and order.random() < 0.5:
                uuid = f"{each['uuid']}+"
                split[name].append(each | {"uuid": uuid})
                split[name].append(each | {"parentUuid": uuid})
            else:
                split[name].append(each)
    assert without_lines(read(split)) == without_lines(read(files))


@few
@given(folders())
def test_a_session_that_was_copied_is_there_once(files: Files) -> None:
    copied = files | {"T.jsonl": [each | {"sessionId": "T"} for each in files["S0.jsonl"]]}
    assert without_lines(read(copied)) == without_lines(read(files))
