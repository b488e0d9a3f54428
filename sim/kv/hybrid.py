"""The KV cache of one engine: prefix lookup and allocation across its cache groups (vLLM 0.28.0).

A plain model has one attention group. A hybrid model has recurrent-state groups first and then its attention
group, others have groups that read a window; all take blocks of equal bytes from one pool, and a hit needs
them all at the same boundary.
"""

from collections.abc import Sequence
from sys import maxsize

from sim.kv.draft_rules import NO_DRAFTS, DraftRules
from sim.kv.extent import Part, block_numbers
from sim.kv.group_spec import GroupSpec, aligned_tokens, full_group, hash_tokens
from sim.kv.groups import Table
from sim.kv.hit import NO_HIT, Hit
from sim.kv.hit_search import HitSearch
from sim.kv.make_groups import make_groups
from sim.kv.pool import BlockPool
from sim.kv.recurrent_group import RecurrentGroup
from sim.kv.runs import BlockRuns
from sim.kv.state_rules import ALL_KEPT, StateRules
from sim.kv.window_group import WindowGroup


class KvCache:
    """Block pool and groups of one engine. `tables`, one a group, are empty while a request holds nothing.

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

    def begin_step(self) -> None:
        """Forget what belongs to one step: fresh checkpoints and the log of blocks taken."""
        for group in self.recurrent:
            group.made_this_step.clear()
        self.pool.taken.clear()

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

    def need(
        self,
        tables: list[Table],
        tokens: int,
        hit: Hit = NO_HIT,
        *,
        computed: int = 0,
        capped: bool = False,
        ahead_tokens: int = 0,
        prefill_end: int = maxsize,
    ) -> int | None:
        """Free blocks it takes for `tables` to cover `tokens`; None if not possible in this step.

        `computed` tokens of them are computed already, or come with the hit and from elsewhere. `capped`: as
        the check of a whole sequence counts. `ahead_tokens`: slots beyond, that recurrent groups do not take.
        `prefill_end`: where the prefill of the request ends, if the tokens may be part of it.
        """
        slots = min(tokens + ahead_tokens, self._max_model_len) if ahead_tokens else tokens
        if self._covers(tables, slots):
            return 0
        total = 0
        hits = hit.blocks or self._no_hits
        for number, group in enumerate(self.groups):
            table = tables[number] if tables else None
            wanted = tokens if self.specs[number].kind == "recurrent" else slots
            need = group.need(
                table,
                wanted,
                computed,
                hits[number],
                hit.tokens,
                capped=capped,
                prefill_end=prefill_end,
            )
            if need is None:
                return None
            total += need
        return total

    def _covers(self, tables: list[Table], slots: int) -> bool:
        """Whether the blocks that are held suffice, as far as one group tells for all."""
        lead = self._lead
        return lead is not None and bool(tables) and slots <= tables[lead].length * self.block_tokens

    def longest_blocks(self, tokens: int) -> int:
        """Return the most blocks that a request of so many tokens holds at once, by itself."""
        drafts = self.drafts
        slots = min(tokens + drafts.tokens + drafts.lookahead_tokens, self._max_model_len)
        total = 0
        for spec, group in zip(self.specs, self.groups, strict=True):
            if spec.kind == "recurrent":
                total += self.states.blocks_at_most + drafts.tokens
            else:
                total += group.need(None, slots, 0, (), 0, capped=True, prefill_end=maxsize) or 0
        return total

    def skip(self, tables: list[Table], processed_tokens: int) -> None:
        """Return the blocks that no later step of this request reads."""
        if not self.windows:
            for group, table in zip(self.recurrent, tables, strict=False):
                group.skip(table, processed_tokens)
            return
        for rule, table in zip(self.groups, tables, strict=False):
            rule.skip(table, processed_tokens)

    def still_tokens(self, tables: list[Table], num_tokens: int, processed_tokens: int) -> int:
        """How many tokens a decode may add before a group fills a block, or a window leaves one."""
        ends = [
            table.length * spec.block_tokens - 1 - num_tokens
            for spec, table in zip(self.specs, tables, strict=True)
            if spec.kind != "recurrent"
        ]
        return min(*ends, *[window.still_tokens(processed_tokens) for window in self.windows])

    def admit(
        self,
        tables: list[Table],
        hit: Hit,
        covered_tokens: int,
        *,
        prompt_tokens: int = 0,
        junction_tokens: int = 0,
        request_id: int = -1,
    ) -> None:
        """Open the tables of a request: hold the hit, and blocks for what comes from outside beyond it.

        `junction_tokens`: see `Table`.
        """
        tables[:] = [Table() for _ in self.groups]
        for table in tables:
            table.prompt_tokens = prompt_tokens
            table.junction_tokens = junction_tokens
            table.request_id = request_id
        for group, table, blocks in zip(self.groups, tables, hit.blocks or self._no_hits, strict=True):
            group.hold_hits(table, blocks, hit.tokens, covered_tokens)
        if covered_tokens > hit.tokens:
            for group, table in zip(self.groups, tables, strict=True):
                group.take_external(table, covered_tokens)
            if self.recurrent and self.drafts.tokens:
                self.extend(tables, covered_tokens)

    def extend(
        self,
        tables: list[Table],
        tokens: int,
        ahead_tokens: int = 0,
        *,
        computed: int = 0,
        prefill_end: int = maxsize,
    ) -> None:
        """Allocate, group by group, until `tokens` are covered; the caller has asked `need`."""
        slots = min(tokens + ahead_tokens, self._max_model_len) if ahead_tokens else tokens
        if self._covers(tables, slots):
            return
        for number, (group, table) in enumerate(zip(self.groups, tables, strict=True)):
            wanted = tokens if self.specs[number].kind == "recurrent" else slots
            group.extend(table, wanted, computed, prefill_end)

    def grow(
        self,
        tables: list[Table],
        block_ids: BlockRuns,
        tokens: int,
        known_tokens: int,
        *,
        computed: int = 0,
        prefill_end: int = maxsize,
    ) -> bool:
        """Cover `tokens` of a request that runs, and make the blocks of the known ones findable.

        Of the tokens, `computed` have been. False, and nothing changed, if there is no room.
        """
        lead, ahead = self._lead, self.drafts.lookahead_tokens
        if lead is None or ahead:
            need = self.need(tables, tokens, computed=computed, ahead_tokens=ahead, prefill_end=prefill_end)
            if need is None or need > self.pool.free_blocks:
                return False
            self.extend(tables, tokens, ahead, computed=computed, prefill_end=prefill_end)
            self.register(tables, block_ids, known_tokens)
            return True
        table, size = tables[lead], self.block_tokens
        if tokens > table.length * size:
            need = self.need(tables, tokens, computed=computed, prefill_end=prefill_end)
            if need is None or need > self.pool.free_blocks:
                return False
            self.extend(tables, tokens, computed=computed, prefill_end=prefill_end)
        if known_tokens // size > table.registered:
            self.register(tables, block_ids, known_tokens)
        return True

    def register(self, tables: list[Table], block_ids: Sequence[int], tokens: int) -> None:
        """Make every full block below `tokens` findable that a hit may use, in every group."""
        lead = self._lead
        if lead is not None and tokens // self.block_tokens <= tables[lead].registered:
            return  # no group is ever behind: what a load brings counts as registered in recurrent ones
        block_ids = BlockRuns.of(block_ids)
        for number, (group, table) in enumerate(zip(self.groups, tables, strict=True)):
            settled = self._findable(tokens, self.specs[number].block_tokens)
            group.register(table, block_ids, settled)

    def _findable(self, tokens: int, block_tokens: int) -> int:
        """Return up to where a group makes blocks findable: hits end at aligned tokens.

        Where hits lose their last block, that one is needed beyond the aligned end.
        """
        aligned = self._aligned_tokens
        if len(self.groups) > 1 and (not self.drafts.drops_last_block or tokens < aligned):
            return tokens - tokens % aligned
        settled = max(0, tokens - self.drafts.unsettled_tokens)
        if len(self.groups) == 1:
            return settled
        return min(settled, settled - settled % aligned + block_tokens)

    def free(self, tables: list[Table]) -> None:
        """Return everything, group by group, the deepest block first."""
        for table in tables:
            self.pool.free(table.from_the_end())
        tables.clear()

    def detach(self, tables: list[Table]) -> list[Part]:
        """Close the tables but leave the blocks held; return them in the order of a deferred free.

        That is the deepest block of the last group first.
        """
        parts = [part for table in reversed(tables) for part in table.from_the_end()]
        tables.clear()
        return parts

    def retake(self, tables: list[Table]) -> None:
        """Log all blocks of a request as taken in this step: their content came from outside, and it runs."""
        for table in tables:
            self.pool.taken += block_numbers([*table.parts.values()])


def _before(parts: Sequence[Part], position: int) -> list[Part]:
    """Return what of some parts stands before a position."""
    return [(extent, start, min(stop, position)) for extent, start, stop in parts if start < position]
