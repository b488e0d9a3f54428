"""The KV cache of one engine: prefix lookup and allocation across its cache groups (vLLM 0.28.0).

A plain model has one attention group. A hybrid model has recurrent-state groups first and then its attention
group, others have groups that read a window; all take blocks of equal bytes from one pool, and a hit needs
them all at the same boundary.
"""

from collections.abc import Sequence
from sys import maxsize

from sim.kv.extent import Part, block_numbers
from sim.kv.found import Found
from sim.kv.groups import Table, blocks_for
from sim.kv.hit import NO_HIT, Hit
from sim.kv.runs import BlockRuns


class KvCache(Found):
    """Block pool and groups of one engine. `tables`, one a group, are empty while a request holds nothing."""

    def begin_step(self) -> None:
        """Forget what belongs to one step: fresh checkpoints and the log of blocks taken."""
        for group in self.recurrent:
            group.made_this_step.clear()
        self.pool.taken.clear()

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

    def states_brought(self, computed: int, tokens: int) -> int:
        """Return how many blocks `need` leaves out when a step loads the first `computed` tokens and computes
        the rest up to `tokens`: a recurrent group has a state at both ends.

        vLLM 0.33.0 leaves them out too, and dies where they are the last ones.
        """
        return sum(
            blocks_for(tokens, group.block_tokens) > blocks_for(computed, group.block_tokens)
            for group in self.recurrent
        )

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
