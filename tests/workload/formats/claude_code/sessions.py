"""Agents that go on, turn by turn."""

from tests.workload.formats.claude_code.answering import Answering
from tests.workload.formats.claude_code.log import Job
from tests.workload.formats.claude_code.world import MINUTE, SECRET, Row, Sent, stamp


class Stream(Answering):
    """A session or a sub-agent."""

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
        steps = world.random.randint(0, 3)
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
        queue: Row = {"type": "queue-operation", "operation": "enqueue", "sessionId": self.session}
        at = self.later(5, 500)
        self.world.write(self.path, at, queue | {"timestamp": stamp(at), "content": text})
        if self.world.random.random() < 0.5:
            at = self.later(1, 5)
            self.world.write(self.path, at, queue | {"timestamp": stamp(at), "operation": "dequeue"})
        self.user(self.later(5, 50), content=text)
        self.by_tool = False
        assert job.last
        self.waits.append(job.last)
        self.respond(last=True)

    def compact(self, likely: float) -> None:
        """Put a summary in the place of all before."""
        world = self.world
        known = self.known
        if known is None or self.whole or not world.chance("compaction", likely):
            return
        took = world.random.randint(5_000, 60_000)
        at = self.now = world.at(self.now + took + world.random.randint(1000, 5000))
        pre = known.total + world.random.randint(known.output, known.output + 100)
        meta: Row = {"trigger": "auto", "preTokens": pre}
        if new := world.random.random() < 0.6:
            meta |= {"postTokens": 700, "durationMs": took}
        links: Row = {"parentUuid": None, "logicalParentUuid": self.tip}
        self.tip = self.row("system", at, subtype="compact_boundary", compactMetadata=meta, **links)
        text = SECRET + "x" * 4 * world.random.randint(20, 200)
        text += "x" * (-len(text) % 4)
        self.user(at, isCompactSummary=True, content=text)
        send = at - took if new else at
        call = Sent(self.name, "compaction", self.model, send, at, pre, len(text) // 4, None, known)
        call.kept = known.total
        call.answer, call.before, call.waits = min(known.output, pre - known.total), self.before, self.waits
        world.sent.append(call)
        self.before, self.known, self.turn_ends, self.waits = call, None, [], []
        self.by_tool, self.inherits = None, None

    def plan(self, block: Row) -> None:
        """Make a call of a tool one of an agent, perhaps."""
        world = self.world
        oldest = {"inline"} if self.inlines else {"agents", "background", "forks_of_agents"}
        ways = sorted(oldest & world.features)
        if not ways or self.depth > 1 or self.inline or world.random.random() < 0.5:
            return
        way = world.random.choice(ways)
        kind = "fork" if way == "forks_of_agents" else world.random.choice(["explore", "plan"])
        block |= {"name": "Task", "input": {"prompt": SECRET, "subagent_type": kind}}
        if way == "background":
            block["input"]["run_in_background"] = True

    def start(self, sent: Sent, block: Row, row: str) -> Job:
        """Run a tool, or all of a sub-agent."""
        world, random, tool = self.world, self.world.random, block["id"]
        if block["name"] != "Task":
            took = random.randint(20, 200_000 if random.random() < 0.1 else 20_000)
            return Job(tool, row, self.now + took)
        kind, in_background = block["input"]["subagent_type"], "run_in_background" in block["input"]
        agent = world.id("a")
        path = self.path if self.inlines else self._path_of(agent)
        told = {"agent": None if self.inlines else agent, "inline": self.inlines}
        name = f"{path}#{agent}"
        child = Stream(
            world, path, self.session, self.now, kind=kind, name=name, depth=self.depth + 1, **told
        )
        if not self.inlines and (in_background or random.random() < 0.6):
            meta = {"agentType": kind, "toolUseId": tool, "description": SECRET}
            world.write(path.removesuffix(".jsonl") + ".meta.json", 0, meta)
        child.work(sent)
        job = Job(
            tool, row, child.now + random.randint(5, 500), child.before, None if self.inlines else agent
        )
        if in_background:
            self.running.append(job)
            return Job(tool, row, self.now + random.randint(5, 100), None, agent, background=True)
        return job

    def work(self, sent: Sent) -> None:
        """Do what a sub-agent was started for."""
        self.model, self.relay, self.waits = sent.model, False, [sent]
        self.inherits = sent if self.kind == "fork" else None
        self.user(self.later(1, 4) if self.inline else self.later(5, 400))
        self.by_tool = False
        steps = self.world.random.randint(0, 3)
        for step in range(steps + 1):
            self.respond(last=step == steps)
            if step < steps:
                self.compact(0.2)

    def _path_of(self, agent: str) -> str:
        world, folder = self.world, self.path.rpartition("/")[0]
        home = folder
        if "/subagents" not in folder and "beside" not in world.features:
            home = f"{folder}/{self.session}/subagents"
            if "workflows" in world.features and world.random.random() < 0.5:
                home += f"/workflows/{world.id('w')}"
        return f"{home}/agent-{agent}.jsonl"

    def finish(self, job: Job) -> None:
        """Write the result of a tool."""
        self.now = at = self.world.at(max(self.now, job.end))
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
