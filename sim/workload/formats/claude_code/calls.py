"""Responses as calls of a log."""

from collections.abc import Mapping, Sequence

from sim.workload.calls import Call
from sim.workload.formats.claude_code.identity import answer_tokens
from sim.workload.formats.claude_code.responses import Response
from sim.workload.formats.logged import unique

US = 10**6


def calls_of(turns: Sequence[Response], agent_types: Mapping[str, str]) -> list[Call]:
    """Return the calls of turns in order; times in seconds from the first on."""
    waits = _Waits(turns)
    groups = _Groups(agent_types)
    position = {id(turn): number for number, turn in enumerate(turns)}
    origin = turns[0].send_us
    calls: list[Call] = []
    for turn in turns:
        group, kept = groups.join(turn)
        read = turn.usage.read if turn.usage is not None else None
        calls.append(
            Call(
                turn.stream.name,
                turn.name,
                (turn.send_us - origin) / US,
                (turn.end_us - origin) / US,
                turn.prompt_tokens,
                turn.output_tokens,
                parent=None if turn.predecessor is None else position[id(turn.predecessor)],
                kept_tokens=kept if turn.predecessor is None else turn.kept_tokens,
                answer_tokens=answer_tokens(turn),
                group=group,
                waits_for=tuple(sorted({position[id(each)] for each in waits.of(turn)})),
                cached_tokens=None if read is None else min(read, turn.prompt_tokens),
                model=turn.model,
                line=turn.rows[0].line,
                by_tool=turn.by_tool,
            )
        )
    unique(calls)
    return calls


class _Groups:
    """Prompts that go on from none begin with tools and system prompt, those of agent, model and version."""

    def __init__(self, agent_types: Mapping[str, str]) -> None:
        self._agent_types = agent_types
        self._first: dict[object, Response] = {}
        self._numbers: dict[object, int] = {}

    def join(self, turn: Response) -> tuple[str | None, int]:
        """Return the group of such a prompt, and how much of the first one in it its own begins with."""
        if turn.predecessor is not None or turn.usage is None:
            return None, 0
        key = (self._agent_types[turn.stream.name], turn.model, turn.version)
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        first = self._first.setdefault(key, turn)
        shared = min(turn.usage.read, turn.prompt_tokens, first.prompt_tokens)
        return str(number), 0 if first is turn else shared


class _Waits:
    """Who a request waits for besides the turn before; that one too where the others do not imply it."""

    def __init__(self, turns: Sequence[Response]) -> None:
        self._before: dict[int, Response] = {}
        self._starter: dict[str, Response] = {}
        last: dict[str, Response] = {}
        for turn in turns:
            name = turn.stream.name
            if name in last:
                self._before[id(turn)] = last[name]
            elif turn.waits_for:
                self._starter[name] = turn.waits_for[0]
            last[name] = turn

    def of(self, turn: Response) -> list[Response]:
        """Return all that it waits for; none where it is the turn before alone."""
        before = self._before.get(id(turn))
        if not turn.waits_for or before is None:
            return turn.waits_for
        starters = (self._starter.get(each.stream.name) for each in turn.waits_for)
        implied = any(
            each is not None and each.stream is before.stream and each.place >= before.place
            for each in starters
        )
        return turn.waits_for if implied else [before, *turn.waits_for]
