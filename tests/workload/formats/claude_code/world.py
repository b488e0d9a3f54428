"""Agents, a provider's cache and the transcripts that they leave, with the requests known before any is written."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Row = dict[str, Any]
EPOCH_MS = 1_767_261_600_000
MINUTE = 60_000
SECRET = "SECRET-7f"
"""In all that a transcript has of texts."""


@dataclass(eq=False)
class Sent:
    """A request as it was."""

    stream: str
    name: str
    model: str | None
    send: int
    end: int
    total: int
    output: int
    read: int
    parent: "Sent | None" = None
    kept: int = 0
    answer: int = 0
    group: tuple[str, str, str] | None = None
    waits: list["Sent"] = field(default_factory=list)
    before: "Sent | None" = None
    by_tool: bool | None = None
    entry: int = 0
    """What the provider has of it from now on, in tokens."""
    ttl: int = 5 * MINUTE
    last_row: str = ""


def stamp(ms: int) -> str:
    seconds, rest = divmod(EPOCH_MS + ms, 1000)
    days, of_day = divmod(seconds, 86_400)
    hours, of_hour = divmod(of_day, 3600)
    day = days - 20_454 + 1
    return f"2026-01-{day:02d}T{hours:02d}:{of_hour // 60:02d}:{of_hour % 60:02d}.{rest:03d}Z"


class World:
    """Files by their paths and requests, filled by sessions."""

    def __init__(self, seed: int, features: set[str]) -> None:
        self.random = Random(seed)
        self.features = features
        self.files: dict[str, list[tuple[int, int, Row]]] = {}
        self.sent: list[Sent] = []
        self._taken: set[int] = set()
        self._n = 0

    def chance(self, feature: str, of: float = 0.35) -> bool:
        return feature in self.features and self.random.random() < of

    def id(self, kind: str) -> str:
        self._n += 1
        return f"{kind}{self._n}"

    def at(self, ms: int) -> int:
        """Return the first instant from one on at which nothing has happened: what happens is told by its time."""
        while ms in self._taken:
            ms += 1
        self._taken.add(ms)
        return ms

    def write(self, path: str, at: int, row: Row) -> None:
        self._n += 1
        self.files.setdefault(path, []).append((at, self._n, row))

    def rows(self, path: str) -> list[Row]:
        return [row for _, _, row in sorted(self.files[path], key=lambda each: each[:2])]

    def save(self, root: Path) -> None:
        for path in self.files:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row) for row in self.rows(path)]
            if "cut" in self.features and path.endswith(".jsonl"):
                lines.append('{"type": "assistant", "uuid": "cut", "message": {"id": "cut", "usa')
            file.write_text("\n".join(lines) + ("" if "cut" in self.features else "\n"))


@dataclass
class Job:
    """A tool that runs: when its result comes, who must have ended for it."""

    tool: str
    row: str
    end: int
    last: Sent | None = None
    agent: str | None = None
    background: bool = False


class Stream:
    """A session or a sub-agent that goes on, turn by turn."""

    def __init__(
        self,
        world: World,
        path: str,
        session: str,
        now: int,
        kind: str = "main",
        agent: str | None = None,
        inline: bool = False,
        name: str | None = None,
        depth: int = 0,
    ) -> None:
        self.world, self.path, self.session, self.now = world, path, session, now
        self.kind, self.agent, self.inline, self.depth = kind, agent, inline, depth
        self.name = name or agent or path
        self.group = kind
        self.model = "claude-a"
        self.version = "2.1.0"
        self.tip: str | None = None
        """The row that the next one hangs on."""
        self.known: Sent | None = None
        """The request whose prompt the next one's begins with."""
        self.before: Sent | None = None
        self.waits: list[Sent] = []
        self.turn_ends: list[Sent] = []
        self.running: list[Job] = []
        self.system = {"main": 3000, "explore": 2000, "plan": 2500, "fork": 3000}[kind]
        self.by_tool: bool | None = None
        self.trigger: list[int] = []
        self.relay = world.chance("relay", 0.6)
        self.inlines = kind == "main" and world.chance("inline", 0.5)
        """Whether sub-agents are written into its file."""
        self.whole = False
        """Whether the next request must find all that it can in the provider's cache."""
        self.inherits: Sent | None = None

    # Rows

    def row(self, type_: str, at: int, **more: Any) -> str:
        uuid = self.world.id("u")
        row: Row = {"type": type_, "uuid": uuid, "parentUuid": self.tip, "sessionId": self.session}
        row |= {"timestamp": stamp(at), "isSidechain": self.kind != "main", "version": self.version}
        row |= {"cwd": f"/{SECRET}", "gitBranch": SECRET}
        if self.agent:
            row["agentId"] = self.agent
        write_at = more.pop("write_at", at)
        row |= more
        if type_ == "user" and more.get("message"):
            row["message"]["role"] = "user"
        self.world.write(self.path, write_at, row)
        if self.world.chance("duplicates", 0.1):
            self.world.write(self.path, write_at, deepcopy(row))
        return uuid

    def user(self, at: int, **more: Any) -> None:
        content = more.pop("content", f"{SECRET} do this")
        self.tip = self.row("user", at, message={"content": content}, **more)
        self.trigger.append(at)

    def later(self, least: int, most: int) -> int:
        self.now = self.world.at(self.now + self.world.random.randint(least, most))
        return self.now

    def noise(self) -> None:
        """Write what is no trigger, or one that the clock dates back."""
        world = self.world
        if world.chance("meta"):
            self.tip = self.row("user", self.later(10, 5000), isMeta=True, message={"content": f"{SECRET} meta"})
        if world.chance("commands", 0.3):
            text = world.random.choice(["<command-name>/x</command-name>", "<local-command-stdout>x</local-command-stdout>"])
            self.tip = self.row("user", self.later(10, 5000), message={"content": text})
        if world.chance("synthetic"):
            self.tip = self.row(
                "assistant",
                self.later(10, 5000),
                isApiErrorMessage=True,
                message={"id": world.id("syn"), "model": "<synthetic>", "content": [{"type": "text", "text": SECRET}], "usage": usage(0, 0, 0, 0)},
            )
        if world.chance("api_errors"):
            self.tip = self.row("system", self.later(10, 5000), subtype="api_error", level="error", error={"status": 529, "x": SECRET})
        if world.chance("progress"):
            message = {"id": world.id("p"), "model": self.model, "content": [], "usage": usage(5, 500, 0, 7)}
            inner = {"type": "assistant", "uuid": world.id("u"), "timestamp": stamp(self.now), "message": message}
            self.tip = self.row("progress", self.later(10, 100), data={"type": "agent_progress", "message": inner})

    def attach(self) -> None:
        world = self.world
        if world.chance("attachments"):
            at = self.later(1, 50)
            shown = at - 200 if world.chance("backwards", 0.7) else at
            self.tip = self.row("attachment", shown, attachment={"type": "x", "text": SECRET}, write_at=at)
            self.trigger.append(shown)

    # Turns

    def turn(self) -> None:
        """A person writes, or an agent is told; the model answers until it calls no tool."""
        world, think = self.world, self.world.random.randint(1000, 100_000)
        if world.chance("expired", 0.25):
            think = world.random.randint(6, 50) * MINUTE
        if world.chance("rewind", 0.3) and self.turn_ends:
            self.known = world.random.choice(self.turn_ends)
            self.tip = self.known.last_row
        if world.chance("two_models", 0.3):
            self.model = {"claude-a": "claude-b", "claude-b": "claude-a"}[self.model]
        self.noise()
        self.now = world.at(self.now + think)
        self.user(self.now)
        self.by_tool = False
        self.attach()
        if world.random.random() < 0.3:
            self.noise()
        steps = world.random.randint(0, 3) if world.features & {"tools", "agents", "background", "forks_of_agents", "inline"} else 0
        for step in range(steps + 1):
            self.respond(last=step == steps)
            self.compact(0.1)
        if not self.relay and world.chance("no_trigger", 0.2):
            self.by_tool = None
            self.respond(last=True)
        if self.running and world.random.random() < 0.7:
            self.notice()

    def notice(self) -> None:
        """A background agent is done: its answer is what the next request is sent for."""
        job = min(self.running, key=lambda each: each.end)
        self.running.remove(job)
        self.now = max(self.now, job.end)
        text = f"<task-notification><tool-use-id>{job.tool}</tool-use-id>{SECRET}</task-notification>"
        queue = {"type": "queue-operation", "operation": "enqueue", "sessionId": self.session, "content": text}
        at = self.later(5, 500)
        self.world.write(self.path, at, queue | {"timestamp": stamp(at)})
        if self.world.random.random() < 0.5:
            self.world.write(self.path, self.later(1, 5), queue | {"operation": "dequeue", "content": None, "timestamp": stamp(self.now)})
        self.user(self.later(5, 50), content=text)
        self.by_tool = False
        assert job.last
        self.waits.append(job.last)
        self.respond(last=True)

    def compact(self, likely: float) -> None:
        world = self.world
        if not self.before or self.whole or not world.chance("compaction", likely) or not self.known:
            return
        known = self.known
        took = world.random.randint(5_000, 60_000)
        at = self.now = world.at(self.now + took + world.random.randint(1000, 5000))
        pre = known.total + world.random.randint(known.output, known.output + 100)
        meta: Row = {"trigger": "auto", "preTokens": pre}
        if new := world.random.random() < 0.6:
            meta |= {"postTokens": 700, "durationMs": took}
        boundary = self.row("system", at, parentUuid=None, logicalParentUuid=self.tip, subtype="compact_boundary", compactMetadata=meta)
        self.tip = boundary
        text = SECRET + "x" * 4 * world.random.randint(20, 200)
        text += "x" * (-len(text) % 4)
        self.user(at, isCompactSummary=True, content=text)
        send = at - took if new else at
        call = Sent(self.name, "compaction", self.model, send, at, pre, len(text) // 4, known.entry, known, known.total)
        call.answer, call.before, call.waits = min(known.output, pre - known.total), self.before, self.waits
        world.sent.append(call)
        self.before, self.known, self.turn_ends, self.waits = call, None, [], []
        self.by_tool, self.inherits = None, None

    # Requests

    def respond(self, last: bool) -> None:
        world, random = self.world, self.world.random
        known = self.known or self.inherits
        send = max(self.trigger) if self.trigger else None
        new = random.randint(50, 3000)
        sent = Sent(self.name, world.id("m"), self.model, send or 0, 0, 0, random.randint(10, 900), 0)
        diagnosis = None
        if known is None:
            sent.group = (self.group, self.model, self.version)
            sent.total = self.system + new
            sent.read = sent.kept = random.choice([0, self.system])
        else:
            sent.parent, sent.kept = known, known.total
            sent.total = known.total + known.output + new
            idle = (send or self.now + 50) - known.end
            sent.read = known.entry
            little = self.system if known.entry - self.system > 2000 else 0
            if self.whole or known is self.inherits:
                pass
            elif known.stream != self.name:
                sent.read = random.choice([0, little, known.entry])
            elif idle > known.ttl:
                sent.read = random.choice([0, little])
            elif known.model != self.model or world.chance("broken", 0.2):
                sent.read = sent.kept = random.choice([0, little])
            elif world.chance("cleared", 0.2) and known.total > self.system + 1500:
                sent.read = sent.kept = little
                sent.total = known.total - random.randint(1, known.total - self.system - 1000)
            if world.chance("diagnostics", 0.7) and sent.read < known.entry - 200:
                diagnosis = random.choice(["messages_changed", "system_changed", "tools_changed"])
                sent.kept = sent.read
            if sent.kept == known.total:
                sent.answer = min(known.output, sent.total - known.total)
        after = random.randint(1, 5)
        if world.chance("behind", 0.3):
            after = random.randint(1, max(1, min(sent.total - sent.read, sent.total - 2100)))
        sent.entry = sent.total - after
        if world.chance("hour", 0.5):
            sent.ttl = 60 * MINUTE
        sent.by_tool, sent.before = self.by_tool, self.before
        sent.waits, self.waits = self.waits, []
        shown = usage(after, sent.entry - sent.read, sent.read, sent.output, sent.ttl > 5 * MINUTE)
        if world.chance("server", 0.4) and known and sent.total > 4000 and self.kind == "main" and sent.kept == known.total and not last and not self.whole:
            after = random.randint(1, 5)
            sent.entry = sent.total - after
            shown = usage(after, sent.entry - sent.read, sent.read, sent.output, sent.ttl > 5 * MINUTE)
            loops = random.randint(4, 6)
            self.whole = True
            for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"):
                shown[key] *= loops
            shown["cache_read_input_tokens"] += (loops - 1) * shown["cache_creation_input_tokens"] // loops
            shown["cache_creation_input_tokens"] //= loops
            shown["server_tool_use"] = {"web_search_requests": loops - 1}
            sent.total = sent.entry
            sent.answer = min(known.output, sent.total - known.total)
            sent.read = -1
        else:
            self.whole = False
        self.blocks(sent, shown, diagnosis, last, send)
        self.before = self.known = sent
        world.sent.append(sent)

    def blocks(self, sent: Sent, shown: Row, diagnosis: str | None, last: bool, send: int | None) -> None:
        """Write the rows of a response, and of the tools that it calls."""
        world, random = self.world, self.world.random
        kinds = ["thinking", "text"][random.randint(0, 1) :]
        tools = 0 if last else random.randint(1, 3 if "parallel" in world.features else 1)
        kinds += ["tool_use"] * tools
        request = None if world.chance("no_request_id", 0.4) else world.id("req")
        jobs: list[Job] = []
        self.trigger = []
        total = len(kinds)
        for n, kind in enumerate(kinds):
            at = self.later(300, 9000) if n == 0 else self.later(5, 2000)
            if n == 0 and send is None:
                sent.send = at
            mine = deepcopy(shown)
            if n < total - 1 and "partial" in world.features:
                mine["output_tokens"] = random.randint(1, sent.output)
            block: Row = {"type": kind, "text": SECRET}
            plan = None
            if kind == "tool_use":
                block = {"type": "tool_use", "id": world.id("t"), "name": "Bash", "input": {"command": SECRET}}
                plan = self.plan(block)
            message: Row = {"id": "relay" if self.relay else sent.name, "model": self.model, "role": "assistant", "type": "message"}
            message |= {"content": [block], "usage": mine, "stop_reason": ("end_turn" if last else "tool_use") if n == total - 1 else None}
            if diagnosis:
                message["diagnostics"] = {"cache_miss_reason": {"type": diagnosis, "cache_missed_input_tokens": 1000}}
            elif world.chance("diagnostics"):
                message["diagnostics"] = random.choice([None, {"cache_miss_reason": None}])
            more = {"requestId": request} if request else {}
            self.tip = sent.last_row = self.row("assistant", at, message=message, **more)
            sent.end = at
            if kind == "tool_use":
                jobs.append(self.start(sent, block, plan, self.tip))
        if world.chance("late_zero", 0.2) and not self.relay:
            at = self.later(5, 50)
            message = {"id": sent.name, "model": self.model, "content": [{"type": "text"}], "usage": usage(0, 0, 0, 0), "stop_reason": None}
            self.tip = sent.last_row = self.row("assistant", at, message=message)
            sent.end = at
        if last:
            self.turn_ends.append(sent)
        for job in sorted(jobs, key=lambda each: each.end):
            self.finish(job)
        self.by_tool = True if jobs else None
        if jobs:
            self.attach()

    def plan(self, block: Row) -> str | None:
        """Make a call of a tool one of an agent, and say how it runs."""
        world = self.world
        oldest = {"inline"} if self.inlines else {"agents", "background", "forks_of_agents"}
        ways = sorted(oldest & world.features)
        if not ways or self.depth > 1 or world.random.random() < 0.5:
            return None
        way = world.random.choice(ways)
        if self.inline:
            return None
        kind = "fork" if way == "forks_of_agents" else world.random.choice(["explore", "plan"])
        block |= {"name": "Task", "input": {"prompt": SECRET, "subagent_type": kind}}
        if way == "background":
            block["input"]["run_in_background"] = True
        return way

    def start(self, sent: Sent, block: Row, way: str | None, row: str) -> Job:
        world, random = self.world, self.world.random
        tool = block["id"]
        if way is None:
            return Job(tool, row, self.now + random.randint(20, 200_000 if random.random() < 0.1 else 20_000))
        kind = block["input"]["subagent_type"]
        agent = world.id("a")
        folder = self.path.rpartition("/")[0]
        home = folder if "/subagents" in folder else f"{folder}/{self.session}/subagents"
        inline = way == "inline"
        if inline:
            path = self.path
        elif "beside" in world.features and "/subagents" not in folder:
            path = f"{folder}/agent-{agent}.jsonl"
        elif "workflows" in world.features and "/workflows" not in home and random.random() < 0.5:
            path = f"{home}/workflows/{world.id('w')}/agent-{agent}.jsonl"
        else:
            path = f"{home}/agent-{agent}.jsonl"
        child = Stream(world, path, self.session, self.now, kind, None if inline else agent, inline, f"{path}#{agent}", self.depth + 1)
        child.model = self.model
        child.relay = False
        told = random.random()
        if not inline and (told < 0.6 or way == "background"):
            world.write(path[:-1].replace(".json", ".meta.json"), 0, {"agentType": kind, "toolUseId": tool, "description": SECRET})
        child.waits = [sent]
        child.inherits = sent if kind == "fork" else None
        child.user(child.later(1, 4) if inline else child.later(5, 400))
        child.by_tool = False
        steps = random.randint(0, 3)
        for step in range(steps + 1):
            child.respond(last=step == steps)
            if step < steps:
                child.compact(0.2)
        assert child.before
        job = Job(tool, row, child.now + random.randint(5, 500), child.before, agent, way == "background")
        if inline:
            job.agent = None
        if job.background:
            self.running.append(Job(tool, row, job.end, job.last))
            job.end, job.last = self.now + random.randint(5, 100), None
        return job

    def finish(self, job: Job) -> None:
        self.now = max(self.now, job.end)
        at = self.world.at(self.now)
        self.now = at
        result: Row = {"stdout": SECRET}
        if job.agent:
            result = {"agentId": job.agent, "status": "completed"}
        if job.background:
            result |= {"status": "async_launched", "isAsync": True}
        content = [{"type": "tool_result", "tool_use_id": job.tool, "content": SECRET}]
        self.tip = job.row
        self.user(at, content=content, toolUseResult=result)
        if job.last:
            self.waits.append(job.last)


def usage(after: int, made: int, read: int, output: int, hour: bool = False) -> Row:
    return {
        "input_tokens": after,
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "cache_creation": {"ephemeral_5m_input_tokens": 0 if hour else made, "ephemeral_1h_input_tokens": made if hour else 0},
    }


def fork(world: World, old: Stream, path: str, session: str, told: str) -> Stream | None:
    """Go on in another file from where a turn of a session ended; `told` is what it says of that."""
    rows = world.rows(old.path)
    ends = {row.get("uuid"): n for n, row in enumerate(rows)}
    here = [each for each in old.turn_ends if each.last_row in ends]
    if not here:
        return None
    start = world.random.choice(here)
    end = ends[start.last_row]
    now = max(at for each in world.files.values() for at, _, _ in each) + world.random.randint(1000, 90 * MINUTE)
    if told != "bare":
        for row in rows[: end + 1]:
            copy = deepcopy(row)
            if told != "kept":
                copy["sessionId"] = session
            if told == "forked_from":
                copy["forkedFrom"] = {"sessionId": old.session, "messageUuid": row.get("uuid")}
            world.write(path, now, copy)
    stream = Stream(world, path, session, now + 10)
    stream.known, stream.tip, stream.model, stream.relay = start, start.last_row, old.model, False
    stream.turn_ends = list(old.turn_ends[: old.turn_ends.index(start) + 1])
    return stream


COPIES = ("rewritten", "kept", "forked_from", "bare")
FEATURES = (
    "tools", "parallel", "partial", "duplicates", "meta", "commands", "synthetic", "api_errors", "progress", "attachments",
    "backwards", "expired", "hour", "rewind", "two_models", "broken", "cleared", "diagnostics", "behind", "server", "no_request_id",
    "late_zero", "agents", "background", "forks_of_agents", "inline", "beside", "workflows", "compaction", "relay", "cut", "copies",
    "empty_parent", "skipped", "no_trigger",
)  # fmt: skip


def make(seed: int, features: set[str]) -> World:
    """Return a world of a few sessions that has these features."""
    world = World(seed, features)
    now = 0
    streams: list[Stream] = []
    for _ in range(world.random.randint(1, 3)):
        session = f"{world.random.randrange(16**6):06x}-{world.id('S')}"
        stream = Stream(world, f"projects/-p{world.random.randint(0, 1)}/{session}.jsonl", session, now)
        if world.chance("summary", 1.0):
            world.write(stream.path, now, {"type": "summary", "summary": SECRET, "leafUuid": "x"})
        for _ in range(world.random.randint(1, 5)):
            stream.turn()
        streams.append(stream)
        now = world.random.randint(0, stream.now)
    if "copies" in features:
        for _ in range(world.random.randint(1, 3)):
            old = world.random.choice(streams)
            session = f"{world.random.randrange(16**6):06x}-{world.id('S')}"
            copy = fork(world, old, f"{old.path.rpartition('/')[0]}/{session}.jsonl", session, world.random.choice(COPIES))
            if copy:
                for _ in range(world.random.randint(1, 3)):
                    copy.turn()
                streams.append(copy)
    if "skipped" in features:
        row = {"type": "assistant", "uuid": "h1", "sessionId": "h", "timestamp": stamp(5), "message": {"id": "hist", "model": "claude-a", "usage": usage(1, 2, 3, 4)}}
        world.write("history.jsonl", 0, row)
        world.write(f"{streams[0].path[:-6]}/subagents/workflows/w/journal.jsonl", 0, row)
    return world


def expected_ids(sent: list[Sent], chunk: int, kept: dict[int, tuple[Sent | None, int]]) -> Iterator[list[int]]:
    """Yield hash ids of prompts: what of the parent's full chunks is kept, then new ones."""
    ids: dict[int, list[int]] = {}
    count = 0
    for each in sent:
        parent, tokens = kept[id(each)]
        shared = ids[id(parent)][: min(tokens, parent.total) // chunk] if parent else []
        more = -(-each.total // chunk) - len(shared)
        ids[id(each)] = shared + list(range(count, count + more))
        count += more
        yield ids[id(each)]
