"""The coding-agent generator: conversations as a trace, with chunk ids and nominal timestamps."""

from itertools import islice
from operator import attrgetter
from typing import Literal

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.workload.conversation import Conversation
from sim.workload.growing import shared_start, timed, with_chunks, with_indices
from sim.workload.profiles import profile_named
from sim.workload.request import Request, Trace
from sim.workload.session_sets import Window, window_start, window_words

ProfileName = Literal["talk", "talk-1m", "kct"]

CHUNK_TOKENS = 64


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
        shared = shared_start(conversation.group, conversation.prefix_tokens, CHUNK_TOKENS)
        every = with_chunks(conversation.turns(), shared, session, CHUNK_TOKENS)
        chosen = islice(every, first, first + n_turns)
        start_s = session * start_gap_s
        requests += timed(chosen, f"{profile}-{session}", start_s, max_think_s, think_factor)
    requests.sort(key=attrgetter("timestamp_s"))
    note = f"generated from profile {profile}, seed {seed}: {exactly(sessions, 'session')}"
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
    return Trace(with_indices(requests), CHUNK_TOKENS, profile, (note,))


def _turns_within(conversation: Conversation, max_context_tokens: int | None) -> int:
    """Return how many turns a conversation has until one has too much context."""
    if max_context_tokens is None:
        return conversation.n_turns
    for number, turn in enumerate(conversation.turns()):
        if turn.prompt_tokens + turn.output_tokens > max_context_tokens:
            return number
    return conversation.n_turns
