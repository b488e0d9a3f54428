"""How far a prompt is hit in the first tier (vLLM 0.28.0's OffloadingConnector).

A hit is a boundary up to which every attention block is present and at which every recurrent group has a
state. Keys that are still being written count as present, but make the answer "ask again later".
"""

from collections.abc import Callable, Sequence

from sim.kv.offload import WRITING, Key, OffloadTier

State = Callable[[Key], int | None]
"""See `OffloadTier.state`."""


def tier_hit(
    tier: OffloadTier,
    keys: Sequence[Sequence[Key]],
    start: int,
    limit: int,
    state: State | None = None,
) -> int | None:
    """Return the end of the hit that begins at block `start` and may reach block `limit`; `start` if none.

    `keys` lists the prompt's keys by position, one list a cache group, the attention group last. None: ask
    again later, for a key of the hit is being written, or loaded for another request. Asking is not touching.
    `state` is asked in place of the tier: what it has being written is on its way from elsewhere.
    """
    end = _settled_end(state or tier.state, keys, start, limit)
    if end is None or end == start or not tier.reading:
        return end
    *recurrent, attention = keys
    wanted = [states[end - 1] for states in recurrent] + [*attention[start:end]]
    return end if tier.reading.isdisjoint(wanted) else None


def _settled_end(state: State, keys: Sequence[Sequence[Key]], start: int, limit: int) -> int | None:
    """Lower `limit` group by group until all agree.

    A group that met a key being written does not lower the end: it is asked once more if another group does.
    """
    attention = len(keys) - 1
    recurrent = range(attention)
    end, length, later = limit, 0, False
    groups: Sequence[int] = (attention, *recurrent)
    while groups:
        again: Sequence[int] = ()
        state_asked = False
        for group in groups:
            if end <= start:
                return start
            reach = _run_end if group == attention else _deepest_end
            reached = reach(state, keys[group], start, end)
            if reached == start:
                return start
            if reached is None:
                later = True
            else:
                end = reached
            if end - start < length:
                if later:
                    later, again = False, (attention, *recurrent)
                elif state_asked and not again:
                    again = recurrent
            state_asked |= group != attention
            length = end - start
        groups = again
    return None if later else end


def _run_end(state: State, keys: Sequence[Key], start: int, end: int) -> int | None:
    """End of the run of present keys from `start`; None if one of them is being written."""
    position, writing = start, False
    for key in keys[start:end]:
        found = state(key)
        if found is None:
            break
        writing |= found == WRITING
        position += 1
    return None if writing else position


def _deepest_end(state: State, keys: Sequence[Key], start: int, end: int) -> int | None:
    """End of the deepest present key below `end`, `start` if there is none; None if it is being written."""
    for position in range(end - 1, start - 1, -1):
        found = state(keys[position])
        if found is not None:
            return None if found == WRITING else position + 1
    return start
