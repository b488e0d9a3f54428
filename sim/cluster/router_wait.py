"""How long a request waits at routers, and where it waits now."""

from sim.cluster.gate import Ticket
from sim.cluster.router_line import RouterLine


class RouterWait:
    """Of one request, over all stages and tries."""

    __slots__ = ("_since_s", "_ticket", "line", "total_s")

    def __init__(self) -> None:
        self.line: RouterLine | None = None
        """Where it waits; None: it does not."""
        self.total_s: float | None = None
        """How long it has; None: it came to no router that has a queue."""
        self._ticket: Ticket | None = None
        self._since_s = 0.0

    def begin(self, line: RouterLine, ticket: Ticket | None, now_s: float) -> None:
        """It waits from now on, and with it what it has of its session's binding."""
        self.line, self._ticket, self._since_s = line, ticket, now_s

    def end(self, now_s: float) -> None:
        """It has passed a router that has a queue, where it waited or not."""
        since_s = now_s if self.line is None else self._since_s
        self.line = self._ticket = None
        self.total_s = (self.total_s or 0.0) + (now_s - since_s)

    def leave(self, request: int, now_s: float) -> None:
        """It is not to wait any longer, if it does."""
        if self.line is not None:
            ticket = self._ticket
            self.line.leave(request)
            self.end(now_s)
            if ticket is not None:
                ticket.ended(now_s)
