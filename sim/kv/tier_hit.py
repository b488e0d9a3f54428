"""How far a prompt is hit in the first tier (vLLM 0.28.0's OffloadingConnector).

A hit is a boundary up to which every full-attention block is present, and before which every other group
has what it reads: a recurrent group its state, a windowed one its window. Keys that are still being
written count as present, but make the answer "ask again later".
"""

from collections.abc import Callable, Sequence

from sim.kv.group_spec import GroupSpec
from sim.kv.groups import blocks_for
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, WRITING, OffloadTier

State = Callable[[Key], int | None]
"""See `OffloadTier.state`."""


def read_blocks(spec: GroupSpec) -> int | None:
    """Return how many blocks before a boundary a group reads from a tier; None: all.

    Of a window one token more than it reads of the GPU's pool.
    """
    if spec.kind == "full":
        return None
    return blocks_for(spec.window_tokens, spec.block_tokens) if spec.window_tokens else 1


class TierSearch:
    """The search for one engine's groups. `drops_last_block`: each group's last block is computed again."""

    def __init__(self, groups: Sequence[GroupSpec], *, drops_last_block: bool = False) -> None:
        self._sizes = [spec.block_tokens for spec in groups]
        self._read = [read_blocks(spec) for spec in groups]
        full = [group for group, read in enumerate(self._read) if read is None]
        windows = [group for group, read in enumerate(self._read) if read is not None]
        windows.sort(key=lambda group: -(self._read[group] or 0))
        self._windows = windows
        self._order = [*full, *windows]
        self._drops = drops_last_block

    def end(
        self,
        tier: OffloadTier,
        keys: Sequence[Sequence[Key]],
        start_tokens: int,
        limit_tokens: int,
        state: State | None = None,
    ) -> int | None:
        """Return the end of the hit beyond `start_tokens`, at most `limit_tokens`; the start if there is
        none.

        `keys` lists the prompt's keys by position, one list a group. None: ask again later, for a key of
        the hit is being written, or loaded for another request. Asking is not touching. `state` is asked
        in place of the tier: what it has being written is on its way from elsewhere.
        """
        end = self._settled_end(state or tier.state, keys, start_tokens, limit_tokens)
        if end is None or end == start_tokens or not tier.reading:
            return end
        for names, size, read in zip(keys, self._sizes, self._read, strict=True):
            first, stop = start_tokens // size, blocks_for(end, size)
            if read is not None:
                first = max(first, stop - read)
            if not tier.reading.isdisjoint(names[first:stop]):
                return None
        return end

    def reach(self, state: State, keys: Sequence[Sequence[Key]], start_tokens: int, limit_tokens: int) -> int:
        """Return what the end will be, once all that is being written or loaded is there."""

        def there(key: Key) -> int | None:
            return None if state(key) is None else IDLE

        end = self._settled_end(there, keys, start_tokens, limit_tokens)
        assert end is not None  # nothing is being written
        return end

    def _settled_end(
        self, state: State, keys: Sequence[Sequence[Key]], start_tokens: int, limit_tokens: int
    ) -> int | None:
        """Lower the limit group by group until all agree.

        A group that met a key being written does not lower the end: it is asked once more if another group
        does. Each group loses its last block once, if they do.
        """
        end, length, later = limit_tokens, 0, False
        dropped: set[int] = set()
        groups: Sequence[int] = self._order
        while groups:
            again: Sequence[int] = ()
            window_asked = False
            for group in groups:
                size, names, read = self._sizes[group], keys[group], self._read[group]
                end = min(end, len(names) * size)
                if end - start_tokens < size:
                    return start_tokens
                drops = self._drops and group not in dropped
                # A window that loses its last block looks one further.
                asked = end + size if drops and read is not None else end
                first, stop = start_tokens // size, min(blocks_for(asked, size), len(names))
                reach = _run if read is None else _window
                found = reach(state, names, first, stop, (read or 0) + drops)
                if found == 0:
                    return start_tokens
                if found is None:
                    later = True
                else:
                    if drops:
                        found -= 1
                        dropped.add(group)
                    end = min(end, size * (first + found))
                if end - start_tokens < size:
                    return start_tokens
                if end - start_tokens < length:
                    if later:
                        later, again = False, self._order
                    elif window_asked and not again:
                        again = self._windows
                window_asked |= read is not None
                length = end - start_tokens
            groups = again
        return None if later else end


def _run(state: State, keys: Sequence[Key], start: int, stop: int, _: int) -> int | None:
    """Return how many keys from `start` on are present one after another; None if one is being written."""
    count, writing = 0, False
    for key in keys[start:stop]:
        found = state(key)
        if found is None:
            break
        writing |= found == WRITING
        count += 1
    return None if writing else count


def _window(state: State, keys: Sequence[Key], start: int, stop: int, wanted: int) -> int | None:
    """Return the end, beyond `start`, of the deepest `wanted` keys that are present one after another.

    Without so many, that of those that begin at `start`. None if a key being written was met.
    """
    count, writing = 0, False
    position = stop
    for key in reversed(keys[start:stop]):
        position -= 1
        found = state(key)
        if found is None:
            count = 0
        else:
            writing |= found == WRITING
            count += 1
        if count == wanted:
            return None if writing else position - start + wanted
    return None if writing else count
