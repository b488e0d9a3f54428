"""What of a prompt is found in the KV cache of one engine: the longest hit across its cache groups."""

from collections.abc import Sequence
from sys import maxsize

from sim.kv.draft_rules import NO_DRAFTS, DraftRules
from sim.kv.extent import Part
from sim.kv.group_spec import GroupSpec, aligned_tokens, full_group, hash_tokens
from sim.kv.hit import Hit
from sim.kv.hit_search import HitSearch
from sim.kv.make_groups import make_groups
from sim.kv.pool import BlockPool
from sim.kv.recurrent_group import RecurrentGroup
from sim.kv.runs import BlockRuns
from sim.kv.state_rules import ALL_KEPT, StateRules
from sim.kv.window_group import WindowGroup


class Found:
    """Block pool and groups of one engine, and what is findable in them.

    `groups` in order of their ids. `block_tokens`: tokens for which there is a block id; every group's
    block is a multiple of it. `max_model_len` and `in_flight_tokens` (the most that steps in flight may
    compute) bound what admission counts for a window.
    """

    def __init__(
        self,
        num_blocks: int,
        groups: Sequence[GroupSpec],
        *,
        max_model_len: int = maxsize,
        in_flight_tokens: int = maxsize,
        drafts: DraftRules = NO_DRAFTS,
        states: StateRules = ALL_KEPT,
    ) -> None:
        self.specs = tuple(groups)
        self.block_tokens = hash_tokens(groups)
        self.full_group = full_group(groups)
        """The group of full attention; None if every layer reads a window."""
        self.drafts = drafts
        self.states = states
        self.pool = BlockPool(num_blocks, len(groups))
        self._aligned_tokens = aligned_tokens(groups)
        self._max_model_len = max_model_len
        self.groups = make_groups(
            self.pool, groups, drafts, states, in_flight_tokens=in_flight_tokens, max_model_len=max_model_len
        )
        self.recurrent = [group for group in self.groups if isinstance(group, RecurrentGroup)]
        self.windows = [group for group in self.groups if isinstance(group, WindowGroup)]
        self.skips = any(spec.kind != "full" for spec in groups)
        """Whether requests return blocks while they run."""
        self._no_hits: tuple[Sequence[Part], ...] = ((),) * len(groups)
        uneven = self._aligned_tokens != self.block_tokens
        self._search: HitSearch | None = None
        if self.windows or uneven:
            self._search = HitSearch(self.pool, self.specs, drops_last_block=drafts.drops_last_block)
        self._lead = self._leading_group(uneven=uneven)
        """A group that covers, and has findable, no more than any other: it is asked first. None: ask all."""
        self.attention_group = len(groups) - 1 if self.full_group is None else self.full_group

    def _leading_group(self, *, uneven: bool) -> int | None:
        if uneven or (self.recurrent and self.drafts.tokens):
            return None
        if len(self.groups) == 1:
            return 0
        return self.full_group

    def lookup(self, block_ids: Sequence[int], num_tokens: int) -> Hit:
        """Return the longest usable hit of a request with `num_tokens` known tokens; changes nothing.

        At least one token is left to compute. A hybrid hit is the deepest boundary within the attention run
        at which every recurrent group has a checkpoint.
        """
        block_ids = BlockRuns.of(block_ids)
        if self._search is not None:
            found = self._search.find(block_ids, num_tokens - 1)
            return Hit(found.tokens, found.blocks, found.full_tokens)
        run = self._attention_run(block_ids, num_tokens)
        length = run[-1][2] if run else 0
        tokens = length * self.block_tokens
        if not self.recurrent:
            return Hit(tokens, (run,), tokens)
        depth, states = self._deepest_checkpoint(block_ids, length)
        if not depth:
            return Hit(attention_tokens=tokens)
        return Hit(depth * self.block_tokens, (*states, _before(run, depth)), tokens)

    def lookup_attention(self, block_ids: Sequence[int], num_tokens: int) -> Hit:
        """Return the hit of a request whose recurrent state may come from elsewhere: the attention run alone.

        Its blocks count the deepest checkpoint, as vLLM 0.28.0's admission does. If a checkpoint lies beyond
        the run, the hit is that of `lookup`.
        """
        if not self.recurrent or self._search is not None:
            return self.lookup(block_ids, num_tokens)
        block_ids = BlockRuns.of(block_ids)
        run = self._attention_run(block_ids, num_tokens)
        length = run[-1][2] if run else 0
        depth, states = self._deepest_checkpoint(block_ids, (num_tokens - 1) // self.block_tokens)
        if depth > length:
            return self.lookup(block_ids, num_tokens)
        tokens = length * self.block_tokens
        return Hit(tokens, (*(states or self._no_hits[:-1]), run), tokens, depth < length)

    def _attention_run(self, block_ids: BlockRuns, num_tokens: int) -> list[Part]:
        run = self.pool.run(block_ids, (num_tokens - 1) // self.block_tokens, self.attention_group)
        return _before(run, run[-1][2] - 1) if run and self.drafts.drops_last_block else run

    def _deepest_checkpoint(self, block_ids: BlockRuns, length: int) -> tuple[int, list[list[Part]]]:
        """Return the deepest boundary within `length` blocks at which all groups have a state, and these."""
        first, *others = self.pool.cached[: self.attention_group]
        end = length
        for ids in reversed(block_ids.between(0, length)):
            for start, stop, copies in reversed(first.segments(ids.start, ids.stop)):
                if not copies:
                    continue
                for block_id in range(stop - 1, start - 1, -1):
                    found = [copies, *(cached.get(block_id) for cached in others)]
                    if all(found):
                        depth = end - (ids.stop - 1 - block_id)
                        return depth, [[(states[0], depth - 1, depth)] for states in found]
            end -= ids.stop - ids.start
        return 0, []


def _before(parts: Sequence[Part], position: int) -> list[Part]:
    """Return what of some parts stands before a position."""
    return [(extent, start, min(stop, position)) for extent, start, stop in parts if start < position]
