"""What one agent writes down: rows of its transcript, and rows that say nothing of any request."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.workload.formats.claude_code.world import SECRET, Row, Sent, World, stamp, usage


@dataclass
class Job:
    """A tool that runs: when its result comes, who must have ended for it."""

    tool: str
    row: str
    end: int
    last: Sent | None = None
    agent: str | None = None
    background: bool = False


class Log:
    """A transcript that grows, and what the agent knows when it writes."""

    def __init__(
        self,
        world: World,
        path: str,
        session: str,
        now: int,
        *,
        kind: str = "main",
        agent: str | None = None,
        inline: bool = False,
        name: str | None = None,
        depth: int = 0,
    ) -> None:
        self.world, self.path, self.session, self.now = world, path, session, now
        self.kind, self.agent, self.inline, self.depth = kind, agent, inline, depth
        self.name = name or agent or path
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
        self._first_at = now
        self.whole = False
        """Whether the next request must find all that it can in the provider's cache."""
        self.inherits: Sent | None = None

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
            self.tip = self.row(
                "user", self.later(10, 5000), isMeta=True, message={"content": f"{SECRET} meta"}
            )
        if world.chance("commands", 0.3):
            text = world.random.choice(
                ["<command-name>/x</command-name>", "<local-command-stdout>x</local-command-stdout>"]
            )
            self.tip = self.row("user", self.later(10, 5000), message={"content": text})
        if world.chance("synthetic"):
            self.tip = self.row(
                "assistant",
                self.later(10, 5000),
                isApiErrorMessage=True,
                message={
                    "id": world.id("syn"),
                    "model": "<synthetic>",
                    "content": [{"type": "text", "text": SECRET}],
                    "usage": usage(0, 0, 0, 0),
                },
            )
        if world.chance("api_errors"):
            self.tip = self.row(
                "system",
                self.later(10, 5000),
                subtype="api_error",
                level="error",
                error={"status": 529, "x": SECRET},
            )
        if world.chance("progress"):
            message = {"id": world.id("p"), "model": self.model, "content": [], "usage": usage(5, 500, 0, 7)}
            inner = {
                "type": "assistant",
                "uuid": world.id("u"),
                "timestamp": stamp(self.now),
                "message": message,
            }
            self.tip = self.row(
                "progress", self.later(10, 100), data={"type": "agent_progress", "message": inner}
            )

    def attach(self) -> None:
        world = self.world
        if world.chance("attachments"):
            at = self.later(1, 50)
            shown = at - 200 if world.chance("backwards", 0.7) else at
            self.tip = self.row("attachment", shown, attachment={"type": "x", "text": SECRET}, write_at=at)
            self.trigger.append(shown)
