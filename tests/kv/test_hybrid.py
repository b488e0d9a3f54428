"""The groups of an engine together: hits that all of them agree on, and the order in which blocks move."""

import pytest

from sim.kv.extent import Extent
from sim.kv.group_spec import even_groups
from sim.kv.groups import Table
from sim.kv.hit import NO_HIT, Hit
from sim.kv.hybrid import KvCache
from tests.kv.helpers import blocks_of, forget

HASHES = list(range(100, 120))


def prefilled(cache: KvCache, *ends: int, block_ids: list[int] = HASHES) -> list[Table]:
    """Run the prefill of a cold request in chunks that end there, synchronously."""
    tables: list[Table] = []
    done = 0
    cache.admit(tables, NO_HIT, 0)
    for end in ends:
        cache.begin_step()
        cache.skip(tables, done)
        cache.extend(tables, end)
        cache.register(tables, block_ids, end)
        done = end
    cache.begin_step()
    return tables


def facts(hit: Hit) -> tuple[object, ...]:
    return hit.tokens, hit.blocks, hit.attention_tokens, hit.stateless


class TestPlain:
    def test_at_least_one_token_is_left_to_compute(self) -> None:
        cache = KvCache(11, even_groups(16))
        prefilled(cache, 64)
        assert cache.lookup(HASHES, 64).tokens == 48
        assert cache.lookup(HASHES, 65).tokens == 64
        assert cache.lookup(HASHES, 1).tokens == 0

    def test_a_hit_has_no_gap(self) -> None:
        cache = KvCache(5, even_groups(16))
        tables = prefilled(cache, 64)
        cache.free(tables)  # queue: 4 3 2 1
        ((extent, start, stop),) = cache.lookup(HASHES, 65).blocks[0]
        cache.pool.touch([(extent, start + 1, stop)])
        cache.pool.allocate(Extent(0, 0), 1)  # evicts the head
        hit = cache.lookup(HASHES, 100)
        assert facts(hit) == (0, ([],), 0, False)
        assert cache.lookup(HASHES, 100).tokens == 0

    def test_looking_changes_nothing(self) -> None:
        cache = KvCache(11, even_groups(16))
        cache.free(prefilled(cache, 64))
        before = (cache.pool.changes, cache.pool.free_queue())
        cache.lookup(HASHES, 100)
        assert (cache.pool.changes, cache.pool.free_queue()) == before

    def test_the_head_of_a_prompt_is_evicted_last(self) -> None:
        cache = KvCache(6, even_groups(16))
        cache.free(prefilled(cache, 70))
        assert cache.pool.free_queue() == [None, (103, 0), (102, 0), (101, 0), (100, 0)]


class TestHybrid:
    def cache(self, blocks: int = 40) -> KvCache:
        return KvCache(blocks + 1, even_groups(800, 3))

    def test_a_hit_ends_at_the_deepest_checkpoint_within_the_attention_run(self) -> None:
        cache = self.cache()
        cache.free(prefilled(cache, 3200, 4800, 5000))
        hit = cache.lookup(HASHES, 5001)
        assert (hit.tokens, hit.attention_tokens) == (4800, 4800)
        assert [len(blocks_of(parts)) for parts in hit.blocks] == [1, 1, 1, 6]
        shorter = cache.lookup(HASHES, 4800)  # the bound leaves five blocks, the checkpoint before is at four
        assert (shorter.tokens, shorter.attention_tokens) == (3200, 4000)
        assert [len(blocks_of(parts)) for parts in shorter.blocks] == [1, 1, 1, 4]

    def test_a_checkpoint_is_found_among_ids_in_several_runs(self) -> None:
        cache, block_ids = self.cache(), [7, 8, 9, 100, 101, 50, 51, 52]
        cache.free(prefilled(cache, 1600, 3200, 6400, block_ids=block_ids))
        hit = cache.lookup(block_ids, 6000)
        assert (hit.tokens, hit.attention_tokens) == (3200, 5600)
        assert [sorted(place for _, place in blocks_of(parts)) for parts in hit.blocks] == [
            *([3], [3], [3]),
            [0, 1, 2, 3],
        ]
        assert cache.lookup(block_ids, 3200).tokens == 1600
        assert cache.lookup(block_ids, 6401).tokens == 6400

    def test_all_groups_need_the_checkpoint(self) -> None:
        cache = self.cache()
        tables = prefilled(cache, 3200, 4800, 5000)
        cache.free(tables)
        before = cache.pool.free_queue()
        cache.pool.allocate(
            Extent(0, 0), before.index((HASHES[5], 1)) + 1
        )  # evicts the newest state of the second group too
        hit = cache.lookup(HASHES, 5001)
        assert hit.tokens == 0
        assert hit.blocks == ()
        assert hit.attention_tokens == 4800

    def test_need_of_a_cold_prompt(self) -> None:
        cache = KvCache(1635, even_groups(800, 3))
        assert cache.need([], 213_000) == 270

    def test_need_counts_hits_that_nobody_holds(self) -> None:
        cache = self.cache()
        cache.free(prefilled(cache, 3200, 3300))
        hit = cache.lookup(HASHES, 4000)
        assert hit.tokens == 3200
        # one block for the rest and one state a group, and four attention blocks and three states to hold
        assert cache.need([], 4000, hit) == 1 + 3 + 4 + 3

    def test_a_request_returns_its_blocks_group_by_group_the_deepest_first(self) -> None:
        cache = self.cache(14)
        tables = prefilled(cache, 1600, 2400)
        assert [table.held_blocks for table in tables] == [2, 2, 2, 3]
        cache.free(tables)
        states = [(block_id, group) for group in range(3) for block_id in (102, 101)]
        assert cache.pool.free_queue() == [None] * 5 + [*states, (102, 3), (101, 3), (100, 3)]
        assert tables == []

    def test_a_deferred_free_starts_with_the_attention_tail(self) -> None:
        cache = self.cache(14)
        tables = prefilled(cache, 1600, 2400)
        parts = cache.detach(tables)
        assert cache.pool.free_blocks == 14 - 9
        assert tables == []
        cache.pool.free(parts)
        states = [(block_id, group) for group in (2, 1, 0) for block_id in (102, 101)]
        assert cache.pool.free_queue() == [None] * 5 + [(102, 3), (101, 3), (100, 3), *states]

    def test_blocks_for_loaded_tokens_come_after_all_hits_are_held(self) -> None:
        cache = self.cache(11)
        cache.free(prefilled(cache, 1600))
        hit = cache.lookup(HASHES, 1700)
        assert hit.tokens == 1600
        tables: list[Table] = []
        cache.admit(tables, hit, 3200)
        held = [blocks_of(table.parts.values()) for table in tables]
        assert [sorted(place for _, place in blocks) for blocks in held] == [[3], [3], [3], [0, 1, 2, 3]]
        assert cache.lookup(HASHES, 1700).attention_tokens == 1600  # none of the hit was evicted for the rest

    def test_retake_logs_every_block_again(self) -> None:
        cache = self.cache(14)
        cache.pool.number_blocks()
        tables = prefilled(cache, 1600)
        assert cache.pool.taken == []
        cache.retake(tables)
        assert cache.pool.taken == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("tokens", [1, 799, 800, 801, 8000])
    def test_need_is_what_extend_takes(self, tokens: int) -> None:
        cache = self.cache()
        tables = prefilled(cache, 800)
        need, free = cache.need(tables, 800 + tokens), cache.pool.free_blocks
        cache.extend(tables, 800 + tokens)
        assert need == free - cache.pool.free_blocks

    @pytest.mark.parametrize("tokens", [1500, 1600, 1601, 4000])
    def test_a_state_that_is_loaded_in_the_step_that_goes_on_comes_on_top(self, tokens: int) -> None:
        cache = self.cache()
        need, brought = cache.need([], tokens, computed=1500), cache.states_brought(1500, tokens)
        assert brought == (3 if tokens > 1600 else 0)
        tables: list[Table] = []
        cache.admit(tables, NO_HIT, 1500)
        cache.extend(tables, tokens, computed=1500)
        assert need is not None
        assert need + brought == 40 - cache.pool.free_blocks


class TestAttentionAlone:
    """A hit whose recurrent state is brought from elsewhere."""

    def cache(self, *ends: int) -> KvCache:
        cache = KvCache(41, even_groups(800, 3))
        cache.free(prefilled(cache, *ends))
        return cache

    def test_it_is_the_whole_attention_run(self) -> None:
        hit = self.cache(1600, 4000).lookup_attention(HASHES, 4000)
        assert (hit.tokens, hit.attention_tokens, hit.stateless) == (3200, 3200, True)

    def test_with_a_checkpoint_at_its_end_it_is_the_common_one(self) -> None:
        cache = self.cache(1600, 4000)
        assert facts(cache.lookup_attention(HASHES, 4001)) == facts(cache.lookup(HASHES, 4001))

    def test_a_deeper_checkpoint_makes_it_the_common_one(self) -> None:
        cache = self.cache(1600, 4000)
        forget(cache.pool, HASHES[3], 3)
        hit = cache.lookup_attention(HASHES, 4001)
        assert facts(hit) == facts(cache.lookup(HASHES, 4001))
        assert (hit.tokens, hit.attention_tokens, hit.stateless) == (1600, 2400, False)

    def test_without_any_checkpoint(self) -> None:
        cache = self.cache(4000)
        hit = cache.lookup_attention(HASHES, 3000)
        assert (hit.tokens, hit.stateless) == (2400, True)
        assert [len(blocks_of(parts)) for parts in hit.blocks] == [0, 0, 0, 3]

    def test_its_checkpoint_counts_as_needed_though_it_is_not_held(self) -> None:
        cache = self.cache(1600, 4000)
        hit = cache.lookup_attention(HASHES, 4000)
        # Five attention blocks (four are hits from the free queue); a state and a checkpoint in each group.
        assert cache.need([], 3999, hit) == 5 + 3 * 2
        tables: list[Table] = []
        cache.admit(tables, hit, 3999)
        assert [table.held_blocks for table in tables] == [1, 1, 1, 5]
        assert cache.pool.used_blocks == 8

    def test_its_checkpoint_must_not_be_of_this_step(self) -> None:
        cache = self.cache(1600, 4000)
        hit = cache.lookup_attention(HASHES, 4000)
        cache.recurrent[1].made_this_step.add(HASHES[1])
        assert cache.need([], 3999, hit) is None

    def test_a_plain_model_has_no_state(self) -> None:
        cache = KvCache(11, even_groups(16))
        prefilled(cache, 64)
        assert facts(cache.lookup_attention(HASHES, 65)) == facts(cache.lookup(HASHES, 65))


def test_who_starts_from_a_checkpoint_holds_it() -> None:
    """Two state groups; of the states at 32 and 64 tokens the one that is hit cannot be evicted any more."""
    cache = KvCache(9, even_groups(16, 2))
    cache.free(prefilled(cache, 32, 64))
    assert cache.pool.free_blocks == 8  # four attention blocks and two states, two of them let go before
    hit = cache.lookup(HASHES, 70)
    tables: list[Table] = []
    cache.admit(tables, hit, hit.tokens)
    assert [table.held_blocks for table in tables] == [1, 1, 4]
    assert cache.pool.free_blocks == 2
    states = {(HASHES[3], 0), (HASHES[3], 1)}
    assert states.isdisjoint(filter(None, cache.pool.free_queue()))
