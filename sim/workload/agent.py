"""The coding-agent generator: conversations as a trace, with chunk ids and nominal timestamps."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Literal

from sim.base.errors import InputError
from sim.base.units import plural
from sim.kv.runs import BlockRuns
from sim.workload.conversation import Conversation, Turn
from sim.workload.profiles import profile_named, recorded_service_s
from sim.workload.request import Answer, Request, Trace
from sim.workload.session_sets import Window, window_start, window_words

ProfileName = Literal["talk", "talk-1m", "kct"]

CHUNK_TOKENS = 64
_FIRST_OWN_SCOPE = 1_000
"""Chunk ids are (scope, number): scopes below this are prefix groups, the others sessions."""
_PARTIAL = 1 << 31
"""Numbers of partial last chunks start here."""


def generate(
    profile: ProfileName,
    *,
    sessions: int,
    seed: int,
    turns: int | None = None,
    window: Window = "middle",
    think_factor: float = 1.0,
    max_think_s: float = 60.0,
    start_gap_s: float = 0.5,
    max_context_tokens: int | None = None,
) -> Trace:
    """Return generated sessions as a trace.

    It holds the first or the middle `turns` of each session, those from a turn on, or all. Sessions start
    `start_gap_s` apart; think times are multiplied by `think_factor`, then cut to `max_think_s`. A turn's
    nominal timestamp is the one before, plus the service that the recorded API would have taken, plus the
    think time. A session is the same whatever the number of sessions, so that smaller sets are part of larger
    ones. It ends before the first turn whose prompt and answer have more than `max_context_tokens`.

    Raises:
        InputError: no turn is short enough.

    """
    requests: list[Request] = []
    n_short = n_cut = n_empty = 0
    for session in range(sessions):
        conversation = Conversation(profile_named(profile), seed, session)
        most = _turns_within(conversation, max_context_tokens)
        n_cut += most < conversation.n_turns
        n_empty += most == 0
        n_turns = most if turns is None else min(turns, most)
        n_short += turns is not None and n_turns < turns
        first = window_start(window, n_turns, most)
        chosen = islice(_with_chunks(conversation, session), first, first + n_turns)
        requests += _timed(chosen, f"{profile}-{session}", session * start_gap_s, think_factor, max_think_s)
    requests.sort(key=attrgetter("timestamp_s"))
    note = f"generated from profile {profile}, seed {seed}: {sessions} {plural(sessions, 'session')}"
    if turns is not None:
        note += f", {window_words(window, turns)} of each ({n_short} have fewer)"
    if n_cut:
        note += f"; {n_cut} of them end before they have more than {max_context_tokens:,} tokens"
        note += f", {n_empty} of these before their first turn" if n_empty else ""
    if not requests:
        raise InputError(
            f"workload.max_context_tokens = {max_context_tokens}: every generated prompt is longer; give "
            "more or, for a model that serves no more, another profile or a trace"
        )
    return Trace(_with_indices(requests), CHUNK_TOKENS, profile, (note,))


def _turns_within(conversation: Conversation, max_context_tokens: int | None) -> int:
    """Return how many turns a conversation has until one has too much context."""
    if max_context_tokens is None:
        return conversation.n_turns
    for number, turn in enumerate(conversation.turns()):
        if turn.prompt_tokens + turn.output_tokens > max_context_tokens:
            return number
    return conversation.n_turns


def _with_chunks(conversation: Conversation, session: int) -> Iterator[tuple[Turn, BlockRuns]]:
    """Yield every turn with its chunk ids: those of the tokens kept, and fresh ones.

    A partial last chunk has an id of its own, which the next turn's full chunk does not repeat: those of full
    chunks count up, so that a prompt of many turns is few runs.
    """
    shared, scope = conversation.group << 32, _FIRST_OWN_SCOPE + session << 32
    own = scope
    chunks = BlockRuns([range(shared, shared + conversation.prefix_tokens // CHUNK_TOKENS)])
    for number, turn in enumerate(conversation.turns()):
        n_full, tail = divmod(turn.prompt_tokens, CHUNK_TOKENS)
        n_kept = turn.kept_tokens // CHUNK_TOKENS
        last = scope + _PARTIAL + number
        full = [*chunks.between(0, n_kept), range(own, own + n_full - n_kept)]
        chunks = BlockRuns([*full, range(last, last + 1)] if tail else full)
        own += n_full - n_kept
        yield turn, chunks


def _timed(
    turns: Iterable[tuple[Turn, BlockRuns]],
    session: str,
    start_s: float,
    think_factor: float,
    max_think_s: float,
) -> Iterator[Request]:
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


def _with_indices(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return sorted requests with their indices, and answers that say whose they are."""
    indices = {(request.session, request.turn): index for index, request in enumerate(requests)}
    for index, request in enumerate(requests):
        request.index = index
        if request.answer is not None:
            answered = indices[request.session, request.answer.request]
            request.answer = request.answer._replace(request=answered)
    return tuple(requests)
