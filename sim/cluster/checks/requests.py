"""Requests are conserved: each is sent once, ends once, and gives its place in the client back."""

from array import array

import numpy as np

from sim.base.errors import InvariantError
from sim.cluster.clients.client import Client
from sim.results.rows import Table
from sim.workload.request import Request

RULE = "requests are conserved"

UNFINISHED = "unfinished"
STATUSES = ("completed", "rejected", "failed", "cancelled", UNFINISHED)
"""Each request ends as one of them."""


class Requests:
    """Who was sent and who has ended, of `count` requests of which `slots` may be in flight at once."""

    def __init__(self, count: int, slots: float) -> None:
        self._count = count
        self._slots = slots
        self._sent = bytearray(count)
        self._over = bytearray(count)
        self._answer_tokens = array("q", [0]) * count
        """How long an answer each asks for."""
        self.n_sent = 0
        self.n_over = 0
        self._due = 0
        """Requests whose time has come, if they come in the order of the trace."""
        self._freed_s = -1.0
        self._freed = 0
        """Slots that were given back at that instant: who gets one may not have been sent yet."""

    @property
    def in_flight(self) -> int:
        """Requests that were sent and have not ended."""
        return self.n_sent - self.n_over

    def sent(self, request: Request, now_s: float) -> None:
        """A client sends a request."""
        index = request.index
        self._answer_tokens[index] = request.output_tokens
        if self._sent[index]:
            raise InvariantError(RULE, "sent twice", request=index, now_s=now_s)
        self._sent[index] = 1
        self.n_sent += 1
        if self.in_flight > self._slots:
            detail = f"{self.in_flight} requests in flight, the client has {self._slots:g} slots"
            raise InvariantError(RULE, detail, request=index, now_s=now_s)

    def over(self, index: int, now_s: float) -> None:
        """A request ended, however that was."""
        if not self._sent[index] or self._over[index]:
            detail = "ended twice" if self._over[index] else "ended, but was never sent"
            raise InvariantError(RULE, detail, request=index, now_s=now_s)
        self._over[index] = 1
        self.n_over += 1
        self._freed = self._freed + 1 if now_s == self._freed_s else 1
        self._freed_s = now_s

    def held_back(self, client: Client, now_s: float) -> None:
        """Compare who waits in a client with limited slots with who is due there and was not sent."""
        if self._slots == float("inf"):
            return
        due_s = client.due_s
        while self._due < self._count and due_s[self._due] == due_s[self._due]:  # not nan
            self._due += 1
        between = self._due - self.n_sent - client.waiting
        if not 0 <= between <= (self._freed if now_s == self._freed_s else 0):
            detail = f"{self._due} are due, {self.n_sent} were sent, but {client.waiting} wait for a slot"
            raise InvariantError(RULE, detail, now_s=now_s)
        if client.waiting and self.in_flight + between < self._slots:
            detail = f"{client.waiting} wait for a slot, {self.in_flight} of {self._slots:g} are in use"
            raise InvariantError(RULE, detail, now_s=now_s)

    def check_rows(self, table: Table, now_s: float) -> None:
        """Compare with the rows at the end of a run: one a request, that says how it ended."""
        index = table.values("index").values
        rows = np.bincount(index, minlength=self._count)
        wrong = np.flatnonzero(rows != 1)
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
        if self.n_sent < self._count and not self.in_flight:
            never = int(index[np.flatnonzero(~sent)[0]])
            raise InvariantError(RULE, "never sent, and nobody is waited for", request=never, now_s=now_s)
