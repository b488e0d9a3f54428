"""Requests are conserved: each is sent once, ends once, and gives its place in the client back."""

from array import array
from math import isnan

import numpy as np

from sim.base.errors import InvariantError
from sim.cluster.replay import Replay
from sim.results.rows import Table
from sim.workload.request import Request

RULE = "requests are conserved"

UNFINISHED = "unfinished"
STATUSES = ("completed", "rejected", "failed", "cancelled", UNFINISHED)
"""Each request ends as one of them."""


class Requests:
    """Who was sent and who has ended, of what a replay sends part after part."""

    def __init__(self, replay: Replay) -> None:
        self._parts = replay.parts
        self._part = 0
        """Which of them is played."""
        self._before = 0
        """Requests that were sent in parts before it."""
        self._windowed = replay.settings.duration_s is not None
        """Whether time may be over before all were sent."""
        self._count = count = len(replay.due_s)
        self._sent = bytearray(count)
        self._over = bytearray(count)
        self._answer_tokens = array("q", [0]) * count
        """How long an answer each asks for."""
        self.n_sent = 0
        self.n_over = 0
        self._due = 0
        """Requests of the part whose time has come, if they come in the order of the trace."""
        self._freed_s = -1.0
        self._freed = 0
        """Slots that were given back at that instant: who gets one may not have been sent yet."""

    @property
    def in_flight(self) -> int:
        """Requests that were sent and have not ended."""
        return self.n_sent - self.n_over

    def grow(self, more: int) -> None:
        """There are so many more requests than was known."""
        self._count += more
        self._sent.extend(bytes(more))
        self._over.extend(bytes(more))
        self._answer_tokens.extend([0] * more)

    def sent(self, request: Request, now_s: float) -> None:
        """A client sends a request."""
        index = request.index
        while self._part < len(self._parts) - 1 and index not in self._parts[self._part].indices:
            self._next_part(index, now_s)
        self._answer_tokens[index] = request.output_tokens
        if self._sent[index]:
            raise InvariantError(RULE, "sent twice", request=index, now_s=now_s)
        self._sent[index] = 1
        self.n_sent += 1
        slots = self._parts[self._part].slots
        if self.in_flight > slots:
            detail = f"{self.in_flight} requests in flight, the client has {slots:g} slots"
            raise InvariantError(RULE, detail, request=index, now_s=now_s)

    def _next_part(self, index: int, now_s: float) -> None:
        """Each part ends before the next begins: with all of its requests sent, and none under way."""
        self._before += len(self._parts[self._part].indices)
        if self.in_flight or self.n_sent != self._before:
            detail = f"sent while {self.in_flight} of what goes before are in flight, {self.n_sent} sent of "
            raise InvariantError(RULE, f"{detail}{self._before}", request=index, now_s=now_s)
        self._part += 1
        self._due = 0

    def over(self, index: int, now_s: float) -> None:
        """A request ended, however that was."""
        if not self._sent[index] or self._over[index]:
            detail = "ended twice" if self._over[index] else "ended, but was never sent"
            raise InvariantError(RULE, detail, request=index, now_s=now_s)
        self._over[index] = 1
        self.n_over += 1
        self._freed = self._freed + 1 if now_s == self._freed_s else 1
        self._freed_s = now_s

    def held_back(self, replay: Replay, now_s: float) -> None:
        """Compare who waits in a client with limited slots with who is due there and was not sent."""
        part = self._parts[self._part]
        if part.slots == float("inf") or replay.client is not part.client:
            return
        due_s, indices, waiting = replay.due_s, part.indices, part.client.waiting
        while self._due < len(indices) and not isnan(due_s[indices[self._due]]):
            self._due += 1
        between = self._due - (self.n_sent - self._before) - waiting
        if not 0 <= between <= (self._freed if now_s == self._freed_s else 0):
            sent = self.n_sent - self._before
            detail = f"{self._due} are due, {sent} were sent, but {waiting} wait for a slot"
            raise InvariantError(RULE, detail, now_s=now_s)
        if waiting and self.in_flight + between < part.slots:
            detail = f"{waiting} wait for a slot, {self.in_flight} of {part.slots:g} are in use"
            raise InvariantError(RULE, detail, now_s=now_s)

    def check_rows(self, table: Table, now_s: float) -> None:
        """Compare with the rows at the end of a run: one a request, that says how it ended."""
        index = table.values("index").values
        rows = np.bincount(index, minlength=self._count)
        known = np.zeros(len(rows), np.bool_)
        known[: self._count] = np.frombuffer(self._sent, np.bool_)
        # Of what was not sent when time was over there is no row.
        wrong = np.flatnonzero((rows != 1) & ((rows != 0) | known | (not self._windowed)))
        if wrong.size or len(rows) > self._count:
            detail = f"{rows[wrong[0]]} rows in the table of requests"
            raise InvariantError(RULE, detail, request=int(wrong[0]), now_s=now_s)
        sent, over = (np.frombuffer(flags, np.bool_)[index] for flags in (self._sent, self._over))
        status, answer_tokens = table.values("status").values, np.array(self._answer_tokens)[index]
        for broken, detail in (
            (table.values("send_s").measured != sent, "its row tells otherwise whether it was sent"),
            ((status != UNFINISHED) != over, "its row tells otherwise whether it ended"),
            (~np.isin(status, STATUSES), "its row does not tell how it ended"),
            (
                (status == "completed") & (table.values("output_tokens").values != answer_tokens),
                "it is completed, but its answer is not as long as was asked for",
            ),
        ):
            if broken.any():
                raise InvariantError(RULE, detail, request=int(index[np.flatnonzero(broken)[0]]), now_s=now_s)
        if self.n_sent < self._count and not self.in_flight and not self._windowed:
            never = int(index[np.flatnonzero(~sent)[0]])
            raise InvariantError(RULE, "never sent, and nobody is waited for", request=never, now_s=now_s)
