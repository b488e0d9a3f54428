"""Which class of a router's queue goes next: deficit round robin (Dynamo 1.5.0 and 1.6.1, as measured).

The classes form a ring in the order of the policy file. A visit gives a class that has somebody who can go,
and too little credit for him, its quantum; who goes pays the uncached prompt tokens that he had on arrival.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sim.router.queue.lanes import ClassQueue, Waiting
from sim.router.rules import RULES, Version


class CursorRule(NamedTuple):
    """What becomes of the cursor when a request does not wait: here releases differ."""

    name: str
    passing_moves: bool
    """Whether such a request is one that its class sends on: the next round begins at the class after it."""


BYPASSES: Final = CursorRule("a request that does not wait bypasses the round", passing_moves=False)
TAKES_PART: Final = CursorRule("a request that does not wait takes part in the round", passing_moves=True)


def cursor_rule(version: Version) -> CursorRule:
    """Return the rule of a release."""
    return TAKES_PART if RULES[version].admission_moves_cursor else BYPASSES


class Arbiter:
    """The ring of classes."""

    def __init__(self, classes: Sequence[ClassQueue], rule: CursorRule) -> None:
        self._classes = classes
        self._rule = rule
        self._cursor = 0
        """The class at which the next round begins,"""
        self._keeps: int | None = None
        """unless the one that sent somebody on last can pay for another one."""

    def passed(self, number: int) -> None:
        """A request of a class did not wait."""
        if self._rule.passing_moves:
            self._cursor = (number + 1) % len(self._classes)

    def next(self, can_go: Callable[[Waiting], bool]) -> Waiting | None:
        """Take out who goes next; None: nobody can."""
        keeps, self._keeps = self._keeps, None
        if keeps is not None:
            head = self._classes[keeps].next(can_go)
            if head is not None and head.cost <= self._classes[keeps].deficit:
                return self._send(keeps, head)
        heads: dict[int, Waiting] = {}
        for number in self._ring():
            queue = self._classes[number]
            head = queue.next(can_go)
            if head is None:
                continue
            heads[number] = head
            if queue.deficit < head.cost:
                queue.deficit += queue.settings.quantum
            if queue.deficit >= head.cost:
                return self._send(number, head)
        return self._after_rounds(heads)

    def _after_rounds(self, heads: dict[int, Waiting]) -> Waiting | None:
        """Give all that have somebody who can go as many rounds as it takes until one can pay."""
        if not heads:
            return None
        rounds = min(
            -((self._classes[number].deficit - head.cost) // self._classes[number].settings.quantum)
            for number, head in heads.items()
        )
        for number in heads:
            self._classes[number].deficit += rounds * self._classes[number].settings.quantum
        for number, head in heads.items():  # in the order of the ring
            if self._classes[number].deficit >= head.cost:
                return self._send(number, head)
        raise AssertionError("so many rounds make one of them affordable")

    def _ring(self) -> list[int]:
        count = len(self._classes)
        return [(self._cursor + step) % count for step in range(count)]

    def _send(self, number: int, head: Waiting) -> Waiting:
        queue = self._classes[number]
        queue.deficit -= head.cost
        queue.remove(head)
        self._cursor = (number + 1) % len(self._classes)
        self._keeps = number if queue.requests else None
        return head
