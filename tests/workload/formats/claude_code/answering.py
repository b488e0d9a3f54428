"""Requests of an agent: what is counted of each, and the rows that its answer leaves."""

from tests.workload.formats.claude_code.log import Job, Log
from tests.workload.formats.claude_code.provider import count
from tests.workload.formats.claude_code.world import SECRET, Row, Sent, usage


class Answering(Log):
    """An agent that asks a model, and runs the tools that it calls."""

    def plan(self, block: Row) -> None:
        """Make a call of a tool one of an agent, perhaps."""
        raise NotImplementedError

    def start(self, sent: Sent, block: Row, row: str) -> Job:
        """Start what a block calls."""
        raise NotImplementedError

    def finish(self, job: Job) -> None:
        """Write the result of a tool."""
        raise NotImplementedError

    def respond(self, *, last: bool) -> None:
        """Send a request and write its answer, which calls tools unless it is the last of a turn."""
        world = self.world
        send = max(self.trigger) if self.trigger else None
        sent = Sent(self.name, world.id("m"), self.model, send or 0, 0, 0, world.random.randint(10, 900), 0)
        shown, diagnosis = count(self, sent, send or self.now + 50, last=last)
        sent.by_tool, sent.before = self.by_tool, self.before
        sent.waits, self.waits, self.trigger = self.waits, [], []
        jobs = self._rows(sent, shown, diagnosis, last=last)
        if send is None:
            sent.send = self._first_at
        self.before = self.known = sent
        world.sent.append(sent)
        if last:
            self.turn_ends.append(sent)
        for job in sorted(jobs, key=lambda each: each.end):
            self.finish(job)
        self.by_tool = True if jobs else None
        if jobs:
            self.attach()

    def _rows(self, sent: Sent, shown: Row, diagnosis: str | None, *, last: bool) -> list[Job]:
        """Write a row for every block; return the tools that were called."""
        world, random = self.world, self.world.random
        kinds = ["thinking", "text"][random.randint(0, 1) :]
        kinds += ["tool_use"] * (0 if last else random.randint(1, 3 if "parallel" in world.features else 1))
        ids = {} if world.chance("no_request_id", 0.4) else {"requestId": world.id("req")}
        jobs: list[Job] = []
        for n, kind in enumerate(kinds):
            at = self.later(300, 9000) if n == 0 else self.later(5, 2000)
            self._first_at = at if n == 0 else self._first_at
            block: Row = {"type": kind, "text": SECRET}
            if kind == "tool_use":
                block |= {"id": world.id("t"), "name": "Bash", "input": {"command": SECRET}}
                self.plan(block)
            is_end = n == len(kinds) - 1
            counts = dict(shown)
            if not is_end and "partial" in world.features:
                counts["output_tokens"] = random.randint(1, sent.output)
            stop = ("end_turn" if last else "tool_use") if is_end else None
            self._row(sent, at, block, counts, stop=stop, diagnosis=diagnosis, **ids)
            if kind == "tool_use":
                jobs.append(self.start(sent, block, sent.last_row))
        if world.chance("late_zero", 0.2) and not self.relay:
            self._row(sent, self.later(5, 50), {"type": "text"}, usage(0, 0, 0, 0))
        return jobs

    def _row(
        self,
        sent: Sent,
        at: int,
        block: Row,
        counts: Row,
        *,
        stop: str | None = None,
        diagnosis: str | None = None,
        **ids: str,
    ) -> None:
        """Write one row."""
        world = self.world
        message: Row = {"id": "relay" if self.relay else sent.name, "model": self.model, "role": "assistant"}
        message |= {"content": [block], "usage": counts, "stop_reason": stop}
        if diagnosis:
            reason = {"type": diagnosis, "cache_missed_input_tokens": 1000}
            message["diagnostics"] = {"cache_miss_reason": reason}
        elif world.chance("diagnostics"):
            message["diagnostics"] = world.random.choice([None, {"cache_miss_reason": None}])
        self.tip = sent.last_row = self.row("assistant", at, message=message, **ids)
        sent.end = at
