"""Generated turns as requests: chunk ids of growing prompts, nominal times, whose answers they hold."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sim.kv.runs import BlockRuns
from sim.workload.profiles import recorded_service_s
from sim.workload.request import Answer, Request

FIRST_OWN_SCOPE = 1_000
"""Chunk ids are (scope, number): scopes below this are what sessions share, the others their own."""
_PARTIAL = 1 << 31
"""Numbers of partial last chunks start here."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session."""

    prompt_tokens: int
    kept_tokens: int
    """How much of it repeats the prompt before; in the first turn, the start it shares with its group."""
    answer_tokens: int
    """How much behind that is the answer before; 0 where the prompt before is not repeated to its end."""
    output_tokens: int
    think_s: float
    """From the answer before to this request."""


class ChunkIds:
    """Chunk ids of the prompts that one owner makes, of what nobody else has.

    A partial last chunk has an id of its own, which no full chunk repeats: those of full chunks count up, so
    that a prompt of many turns is few runs.
    """

    __slots__ = ("_chunk_tokens", "_full", "_partial")

    def __init__(self, owner: int, chunk_tokens: int) -> None:
        self._full = (FIRST_OWN_SCOPE + owner) << 32
        self._partial = self._full + _PARTIAL
        self._chunk_tokens = chunk_tokens

    def prompt(self, before: BlockRuns, kept_tokens: int, prompt_tokens: int) -> BlockRuns:
        """Return a prompt that begins with the full chunks of `kept_tokens` of another one."""
        n_full, tail = divmod(prompt_tokens, self._chunk_tokens)
        n_kept = min(kept_tokens // self._chunk_tokens, n_full)
        ranges = [*before.between(0, n_kept), range(self._full, self._full + n_full - n_kept)]
        self._full += n_full - n_kept
        if tail:
            ranges.append(range(self._partial, self._partial + 1))
        self._partial += 1
        return BlockRuns(ranges)


def shared_start(group: int, tokens: int, chunk_tokens: int) -> BlockRuns:
    """Return the full chunks of what a group's prompts begin with."""
    return BlockRuns([range(group << 32, (group << 32) + tokens // chunk_tokens)])


def with_chunks(
    turns: Iterable[Turn], shared: BlockRuns, owner: int, chunk_tokens: int
) -> Iterator[tuple[Turn, BlockRuns]]:
    """Yield every turn of a session with its chunk ids: those of the tokens kept, and fresh ones."""
    ids, chunks = ChunkIds(owner, chunk_tokens), shared
    for turn in turns:
        chunks = ids.prompt(chunks, turn.kept_tokens, turn.prompt_tokens)
        yield turn, chunks


def timed(
    turns: Iterable[tuple[Turn, BlockRuns]],
    session: str,
    start_s: float,
    max_think_s: float,
    think_factor: float = 1.0,
) -> Iterator[Request]:
    """Yield the requests of a session; the index in an answer is the number of the turn that gave it."""
    now_s = start_s
    for number, (turn, chunks) in enumerate(turns):
        think_s = min(turn.think_s * think_factor, max_think_s)
        if number:
            now_s += think_s
        yield Request(
            index=0,
            session=session,
            turn=number,
            timestamp_s=now_s,
            delay_s=think_s if number else None,
            prompt_tokens=turn.prompt_tokens,
            output_tokens=turn.output_tokens,
            chunks=chunks,
            answer=_answer(turn, number) if number else None,
        )
        now_s += recorded_service_s(turn.prompt_tokens, turn.output_tokens)


def _answer(turn: Turn, number: int) -> Answer | None:
    """Return the answer in a prompt; its request, which has no index yet, by the number of the turn."""
    if not turn.answer_tokens:
        return None
    return Answer(number - 1, turn.kept_tokens, turn.kept_tokens + turn.answer_tokens)


def with_indices(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return sorted requests with their indices, and answers that say whose they are."""
    indices = {(request.session, request.turn): index for index, request in enumerate(requests)}
    for index, request in enumerate(requests):
        request.index = index
        if request.answer is not None:
            answered = indices[request.session, request.answer.request]
            request.answer = request.answer._replace(request=answered)
    return tuple(requests)
