"""Messages that change nothing until somebody looks: delivered then, in the order of their arrival.

KV events on their way to a router's index are such messages. The router looks at its index when it chooses,
so that is when they are delivered: none is an event of the simulation.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

Content = TypeVar("Content")


class DelayedQueue(Generic[Content]):
    """Calls `deliver(sender, content)` for every message that has arrived when `open` is called.

    Messages arrive by time, at equal times by sender, and those of one sender in the order in which they were
    sent.
    """

    def __init__(self, deliver: Callable[[int, Content], None]) -> None:
        self._deliver = deliver
        self._messages: list[tuple[float, int, int, Content]] = []
        self._number = count()

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._messages)

    def send(self, arrival_s: float, sender: int, content: Content) -> None:
        """Put a message in that arrives at a time."""
        heappush(self._messages, (arrival_s, sender, next(self._number), content))

    def drop(self, sender: int, since_s: float = -inf) -> int:
        """Throw away what arrives from a sender from a time on; return how many messages that was."""
        kept = [message for message in self._messages if message[1] != sender or message[0] < since_s]
        dropped = len(self._messages) - len(kept)
        if dropped:
            self._messages = kept
            heapify(kept)
        return dropped

    def open(self, now_s: float, sender: float = inf) -> None:
        """Deliver what has arrived before now, and now from senders up to `sender`."""
        messages = self._messages
        while messages:
            arrival_s, origin, _, content = messages[0]
            if (arrival_s, origin) > (now_s, sender):
                break
            heappop(messages)
            self._deliver(origin, content)
