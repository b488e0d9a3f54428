"""Identities of what clients send: of prompts, and of answers that come back in later prompts.

An answer that no later prompt holds is known to its worker alone. One that returns has its blocks from the
sending of its request on: prompt and answer are one sequence, and a later prompt that holds them begins with
its blocks, under whatever hash ids. What only another request's prompt can tell, the blocks in which a
prompt's tail meets its answer, is known that way too.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sim.cluster.held import NOTHING, Held
from sim.cluster.request_state import RequestState
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns
from sim.workload.answers import NONE
from sim.workload.request import Answer, Request


class Sent(NamedTuple):
    """A request as it is sent."""

    record: RequestState
    required_tokens: int
    """Tokens of its prompt behind the longest prefix that an earlier one had, by whole chunks."""
    held: Held = NOTHING


class _Sequence:
    """Prompt and answer of a request, for the prompts that are yet to hold them."""

    __slots__ = ("blocks", "held_tokens", "left", "tokens")

    def __init__(self, blocks: BlockRuns, prompt_tokens: int, tokens: int, left: int) -> None:
        self.blocks = blocks
        self.tokens = tokens
        self.left = left
        """How many prompts are yet to come."""
        self.held_tokens = prompt_tokens
        """Leading tokens that a prompt, this or one with the answer, or decode have made known."""


class Prompts:
    """All prompts of a run; `answers` says which hold the answer to which earlier request.

    `scale` blocks of an identity make one of full attention.
    """

    def __init__(self, prefixes: PrefixTable, answers: Mapping[int, Answer] = NONE, scale: int = 1) -> None:
        self.prefixes = prefixes
        self.attention_block_tokens = prefixes.block_tokens * scale
        self._scale = scale
        self._answers = answers
        self._left = Counter(answer.request for answer in answers.values())
        """By request, how many prompts with its answer are yet to come."""
        self._sequences: dict[int, _Sequence] = {}

    def sent(self, request: Request, now_s: float) -> Sent:
        """A client sends a request, and it is accepted."""
        answer = self._answers.get(request.index)
        earlier = self._take(answer)
        if answer is None or earlier is None:
            prompt, held = self.prefixes.add(request.chunks, request.prompt_tokens), NOTHING
        else:
            end = min(answer.end, earlier.tokens)
            inherited = earlier.blocks[: end // self.prefixes.block_tokens]
            prompt = self.prefixes.add(request.chunks, request.prompt_tokens, inherited)
            held = _held(earlier, end, inherited, prompt.blocks)
        record = RequestState(request, now_s, prompt.blocks, self._scale)
        if self._left and self._left[request.index]:
            record.returns, record.sequence = True, self._sequence(request, prompt.blocks)
        return Sent(record, prompt.required_tokens, held)

    def refused(self, request: Request, now_s: float) -> Sent:
        """A request is turned away at the door: no later prompt is known for it."""
        self._take(self._answers.get(request.index))
        required_tokens = self.prefixes.required_tokens(request.chunks, request.prompt_tokens)
        return Sent(RequestState(request, now_s, BlockRuns(())), required_tokens)

    def attention_blocks(self, request: Request) -> Sequence[int]:
        """Return what KV events call the full blocks of a prompt: those of full attention."""
        return self.prefixes.add(request.chunks, request.prompt_tokens).blocks.every(self._scale)

    def answered(self, record: RequestState) -> int:
        """A request whose answer returns has ended; return how much of both has been computed by now.

        The last token of an answer is not computed before a prompt holds it.
        """
        computed_tokens = record.request.prompt_tokens + record.outputs - 1 if record.outputs else 0
        sequence = self._sequences.get(record.request.index)
        if sequence is not None:
            sequence.held_tokens = max(sequence.held_tokens, computed_tokens)
        return computed_tokens

    def _take(self, answer: Answer | None) -> _Sequence | None:
        """Return what a prompt begins with, if that was sent; it is forgotten after the last such prompt."""
        if answer is None:
            return None
        number = answer.request
        self._left[number] -= 1
        sequence = self._sequences.get(number)
        if sequence is not None:
            sequence.left -= 1
            if not sequence.left:
                del self._sequences[number]
        return sequence

    def _sequence(self, request: Request, blocks: BlockRuns) -> BlockRuns:
        """Give names to the blocks of an answer; return those of prompt and answer."""
        tokens = request.prompt_tokens + request.output_tokens
        generated = self.prefixes.private_blocks(tokens // self.prefixes.block_tokens - len(blocks))
        sequence = BlockRuns((*blocks.ranges, generated))
        self._sequences[request.index] = _Sequence(
            sequence, request.prompt_tokens, tokens, self._left[request.index]
        )
        return sequence


def _held(earlier: _Sequence, end: int, inherited: BlockRuns, blocks: BlockRuns) -> Held:
    """Return what a prompt holds of a sequence up to `end`, and let it be known from now on.

    Nothing, if its chunks were sent before under other names.
    """
    if inherited and blocks[len(inherited) - 1] != inherited[-1]:
        return NOTHING
    held = Held(min(earlier.held_tokens, end), end)
    earlier.held_tokens = max(earlier.held_tokens, end)
    return held
