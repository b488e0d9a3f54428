"""What is done with recurrent states, as plain values: the rules of one engine."""

from typing import NamedTuple

from sim.kv.retirement import Retirement, WholeRetirement


class StateRules(NamedTuple):
    """The defaults are vLLM 0.28.0's."""

    retention_tokens: int | None = None
    """States, and windows, at multiples of so many tokens are kept besides those that prompts start from;
    0: those alone; None: all are kept."""
    retires_all: bool = False
    """Whether states that nothing reads any more go back beyond the empty positions between chunks."""
    saves_inside: bool = False
    """Whether the kernel can save a state inside a chunk, in a block of its own."""

    @property
    def blocks_at_most(self) -> int:
        """Blocks that vLLM counts for one sequence in a group: a chunk has the state that it starts from, the
        one it makes, and one that it saves on the way."""
        return 3 if self.saves_inside else 2

    def retirement(self) -> Retirement:
        """Return who takes states back."""
        return WholeRetirement() if self.retires_all else Retirement()


ALL_KEPT = StateRules()
