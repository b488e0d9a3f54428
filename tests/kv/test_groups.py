"""One cache group of one request: what it needs, holds, gives back and registers."""

from collections.abc import Sequence

from sim.kv.extent import Part
from sim.kv.groups import AttentionGroup, Group, Table, blocks_for
from sim.kv.pool import NULL_BLOCK, BlockPool
from sim.kv.recurrent_group import RecurrentGroup
from sim.kv.runs import BlockRuns
from tests.kv.helpers import cached

HASHES = BlockRuns([range(100, 106)])


def need(
    group: Group, table: Table | None, tokens: int, hits: Sequence[Part] = (), hit_blocks: int = 0
) -> int | None:
    """Free blocks that a group of blocks of 16 needs."""
    return group.need(table, tokens, hit_blocks * 16, hits, hit_blocks * 16, capped=False)


def stored(pool: BlockPool) -> list[tuple[int | None, list[int]]]:
    """Parent and block ids of the stored events so far."""
    assert all(event.stored and (event.group, event.tier) == (0, "device") for event in pool.events)
    return [(event.parent, [*event.blocks]) for event in pool.events]


def numbers(table: Table) -> dict[int, int]:
    """Block number by position, of those that have a block."""
    return {
        place: number for place, number in enumerate(table.numbers(0, table.length)) if number != NULL_BLOCK
    }


def test_a_partly_filled_block_counts() -> None:
    assert [blocks_for(tokens, 800) for tokens in (0, 1, 800, 801)] == [0, 1, 1, 2]


class TestAttention:
    def group(self, blocks: int = 10) -> tuple[BlockPool, AttentionGroup, Table]:
        pool = BlockPool(blocks + 1, 1)
        pool.number_blocks()
        return pool, AttentionGroup(pool, 0, 16), Table()

    def test_need_is_what_is_not_covered(self) -> None:
        _, group, table = self.group()
        assert need(group, None, 40) == 3
        group.extend(table, 40)
        assert numbers(table) == {0: 1, 1: 2, 2: 3}
        assert need(group, table, 48) == 0
        assert need(group, table, 49) == 1

    def test_hits_that_nobody_holds_count_as_need(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 32)
        group.register(table, HASHES, 32)
        hits = pool.run(HASHES, 2, 0)
        assert need(group, None, 48, hits, 2) == 1  # held by the other request
        pool.free(table.from_the_end())
        assert need(group, None, 48, hits, 2) == 3

    def test_only_full_blocks_are_registered_with_one_event_for_the_range(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 47)
        group.register(table, HASHES, 47)
        assert stored(pool) == [(None, [100, 101])]
        group.register(table, HASHES, 47)
        group.register(table, HASHES, 48)
        assert stored(pool)[1:] == [(101, [102])]

    def test_hit_blocks_are_not_registered_again(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 32)
        group.register(table, HASHES, 32)
        pool.events.clear()
        other = Table()
        group.hold_hits(other, pool.run(HASHES, 2, 0), 32, 32)
        group.extend(other, 48)
        group.register(other, HASHES, 48)
        assert numbers(other) == {0: 1, 1: 2, 2: 3}
        assert stored(pool) == [(101, [102])]


class TestRecurrent:
    def group(self, blocks: int = 10) -> tuple[BlockPool, RecurrentGroup, Table]:
        pool = BlockPool(blocks + 1, 1)
        pool.number_blocks()
        return pool, RecurrentGroup(pool, 0, 16), Table()

    def chunk(self, group: RecurrentGroup, table: Table, end: int, processed: int) -> None:
        group.skip(table, processed)
        group.extend(table, end)
        group.register(table, HASHES, end)

    def test_a_chunk_takes_one_block_however_long_it_is(self) -> None:
        _, group, table = self.group()
        assert need(group, None, 64) == 1
        group.extend(table, 64)
        assert (numbers(table), table.length) == ({3: 1}, 4)
        assert need(group, table, 64) == 0

    def test_only_chunk_ends_on_a_boundary_become_checkpoints(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 40, 0)
        assert stored(pool) == [(None, [])]  # two positions are full, neither has a state
        self.chunk(group, table, 48, 40)
        assert stored(pool)[1:] == [(101, [102])]
        assert cached(pool) == [102]

    def test_synchronous_prefill_holds_two_states_and_decode_one(self) -> None:
        pool, group, table = self.group()
        held = []
        for end in (32, 64, 96):
            self.chunk(group, table, end, end - 32)
            held.append(table.held_blocks)
        assert held == [1, 2, 2]
        group.skip(table, 96)
        assert list(table.parts) == [5]
        assert pool.free_queue()[-2:] == [(101, 0), (103, 0)]  # still findable

    def test_with_a_step_in_flight_checkpoints_of_long_chunks_stay_held(self) -> None:
        _, group, table = self.group()
        for end in (32, 64, 96):
            self.chunk(group, table, end, max(end - 64, 0))
        assert list(table.parts) == [1, 3, 5]

    def test_with_a_step_in_flight_states_of_one_block_chunks_return_a_step_later(self) -> None:
        _, group, table = self.group()
        held = []
        for end in (16, 32, 48, 64, 80):
            self.chunk(group, table, end, max(end - 32, 0))
            held.append(list(table.parts))
        assert held == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]

    def test_nobody_starts_from_a_checkpoint_made_in_this_step_even_from_an_older_copy(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 16, 0)
        group.made_this_step.clear()
        older = pool.run(HASHES, 1, 0)
        assert need(group, None, 40, older, 1) == 1
        self.chunk(group, Table(), 16, 0)
        assert pool.run(HASHES, 1, 0) == older
        assert need(group, None, 40, older, 1) is None

    def test_a_hit_is_held_and_given_back_when_the_state_moved_on(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 32, 0)
        checkpoint = table.from_the_end()
        pool.free(checkpoint)
        other = Table()
        group.hold_hits(other, checkpoint, 32, 32)
        assert (numbers(other), other.length, other.registered) == ({1: 1}, 2, 2)
        self.chunk(group, other, 40, 32)
        assert numbers(other) == {1: 1, 2: 2}
        self.chunk(group, other, 41, 40)
        assert numbers(other) == {2: 2}

    def test_a_hit_below_loaded_tokens_is_not_held(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 32, 0)
        checkpoint = table.from_the_end()
        pool.free(checkpoint)
        other = Table()
        group.hold_hits(other, checkpoint, 32, 64)
        group.extend(other, 64)
        assert (numbers(other), other.length, other.registered) == ({3: 2}, 4, 3)
