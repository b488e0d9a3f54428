"""Pool blocks of one sequence or session, by the kinds of a model's cache groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.kv.group_spec import GroupSpec
from sim.kv.state_rules import ALL_KEPT, StateRules


@dataclass(frozen=True, slots=True)
class SessionBlocks:
    """Pool blocks of one session of `tokens` tokens.

    *Cold*: its whole prompt was computed at once, every chunk left a state of which the engine keeps all, or
    those that replays start from, and all that left a window is still there. *Grown*: it got there turn by
    turn, and only its newest checkpoint or window is left. Equal for a plain model.
    """

    tokens: int
    grown: int
    """Idle, grown; also running, for an engine that schedules synchronously."""
    cold: int
    """Idle, cold: the blocks that carry a hash."""
    cold_prefill_sync: int
    """Most it holds while its prompt is computed, scheduling synchronously: two states a group."""
    cold_prefill_async: int
    """The same with asynchronous scheduling, which in vLLM 0.28 holds every checkpoint until the request
    ends, in 0.33 one more."""
    cold_decode_async: int
    """What it holds while it decodes, with asynchronous scheduling."""


def longest_blocks(
    groups: Sequence[GroupSpec], tokens: int, in_flight_tokens: int, state_blocks: int = 2
) -> int:
    """Return the blocks that vLLM counts for one running sequence of `tokens` tokens at most.

    In every recurrent group `state_blocks`; of a window, what it reads and what may be scheduled but not yet
    computed.

    Args:
        groups: of the model.
        tokens: of the sequence.
        in_flight_tokens: budget of a step, times two for an engine that schedules asynchronously.
        state_blocks: two states, and one if the kernel saves another inside a chunk.

    """
    return sum(_longest(group, tokens, in_flight_tokens, state_blocks) for group in groups)


def _longest(group: GroupSpec, tokens: int, in_flight: int, state_blocks: int) -> int:
    match group.kind:
        case "recurrent":
            return state_blocks
        case "sliding_window":
            return _blocks(min(group.window_tokens - 1 + in_flight, tokens), group) + 1
        case "chunked_local":
            return _blocks(min(group.window_tokens + in_flight, tokens), group)
    return _blocks(tokens, group)


def longest_tokens(
    groups: Sequence[GroupSpec],
    num_blocks: int,
    most_tokens: int,
    in_flight_tokens: int,
    state_blocks: int = 2,
) -> int:
    """Return the longest sequence, `most_tokens` at most, whose `longest_blocks` are no more than
    `num_blocks`."""
    low, high = 0, most_tokens
    while low < high:
        middle = (low + high + 1) // 2
        fits = longest_blocks(groups, middle, in_flight_tokens, state_blocks) <= num_blocks
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def session_of(
    groups: Sequence[GroupSpec],
    tokens: int,
    max_num_batched_tokens: int,
    rules: StateRules = ALL_KEPT,
) -> SessionBlocks:
    """Return the blocks of a session in all groups of a model."""
    states = sum(group.kind == "recurrent" for group in groups)
    if any(group.window_tokens for group in groups):
        return _windowed_session(groups, tokens, max_num_batched_tokens)
    return session_blocks(tokens, groups[-1].block_tokens, states, max_num_batched_tokens, rules)


def session_blocks(
    tokens: int,
    block_tokens: int,
    state_groups: int,
    max_num_batched_tokens: int,
    rules: StateRules = ALL_KEPT,
) -> SessionBlocks:
    """Return the blocks of a session of a plain or a hybrid model (align mode).

    A lone cold prompt is computed in chunks of whole blocks within the token budget. Each chunk's end is a
    checkpoint in every state group, the last one at the prompt's last block boundary; a partial block after
    it has a state of its own but no hash.
    """
    attention = -(-tokens // block_tokens)
    if not state_groups:
        return SessionBlocks(tokens, *[attention] * 5)
    chunk_blocks = max(max_num_batched_tokens // block_tokens, 1)
    full_blocks = tokens // block_tokens
    checkpoints = -(-full_blocks // chunk_blocks)
    states = checkpoints + (1 if tokens % block_tokens else 0)
    # Where those beyond gaps do not go back: chunks of one block leave no gap between states.
    pinned = chunk_blocks > 1 and not rules.retires_all
    findable = checkpoints if rules.retention_tokens is None else min(checkpoints, 1)
    return SessionBlocks(
        tokens=tokens,
        grown=attention + state_groups,
        cold=full_blocks + findable * state_groups,
        cold_prefill_sync=attention + min(states, 2) * state_groups,
        cold_prefill_async=attention + (states if pinned else min(states, 3)) * state_groups,
        cold_decode_async=attention + (checkpoints if pinned else 1) * state_groups,
    )


def _windowed_session(groups: Sequence[GroupSpec], tokens: int, budget: int) -> SessionBlocks:
    """Blocks leave a window on the basis of what was computed: a chunk in flight, asynchronously two,
    stay."""
    decode = sum(_held(group, tokens, 0) for group in groups)
    return SessionBlocks(
        tokens=tokens,
        grown=decode,
        cold=sum(_blocks(tokens, group) for group in groups),
        cold_prefill_sync=sum(_held(group, tokens, budget) for group in groups),
        cold_prefill_async=sum(_held(group, tokens, 2 * budget) for group in groups),
        cold_decode_async=decode,
    )


def _held(group: GroupSpec, tokens: int, in_flight: int) -> int:
    """Return the most blocks that a group holds of a sequence with so many tokens in flight."""
    whole = _blocks(tokens, group)
    match group.kind:
        case "sliding_window":
            return min(_blocks(group.window_tokens - 1 + in_flight, group) + 1, whole)
        case "chunked_local":
            return min(_blocks(group.window_tokens + in_flight, group), whole)
    return whole


def _blocks(tokens: int, group: GroupSpec) -> int:
    return -(-tokens // group.block_tokens)
