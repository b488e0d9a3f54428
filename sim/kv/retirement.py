"""Which recurrent states of a running request go back, before the one that was read last.

While a chunk is in flight (asynchronous scheduling) the state before it is not processed yet. 0.28.0 walks
down from the last one that is, and stops at the empty positions between the ends of chunks: earlier
checkpoints stay held until the request ends. 0.33.0 takes them all.
"""

from sim.kv.extent import Part
from sim.kv.groups import Table


class Retirement:
    """vLLM 0.28.0."""

    __slots__ = ()

    def take(self, table: Table, end: int) -> list[Part]:
        """Take the states before position `end` out of a table that go back, the deepest first."""
        parts = table.parts
        freed: list[Part] = []
        position = end - 1
        while position in parts:
            freed.append(parts.pop(position))
            position -= 1
        return freed


class WholeRetirement(Retirement):
    """vLLM 0.33.0."""

    __slots__ = ()

    def take(self, table: Table, end: int) -> list[Part]:
        """Take the states before position `end` out of a table that go back, the deepest first."""
        parts = table.parts
        return [parts.pop(position) for position in reversed(list(parts)) if position < end]
