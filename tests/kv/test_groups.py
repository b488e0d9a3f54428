"""One cache group of one request: what it needs, holds, gives back and registers."""

from sim.kv.events import KvEvent
from sim.kv.groups import AttentionGroup, RecurrentGroup, Table, blocks_for
from sim.kv.pool import BlockPool

HASHES = [100, 101, 102, 103, 104, 105]


def stored(parent: int | None, *hashes: int) -> KvEvent:
    return KvEvent(True, 0, parent, list(hashes), "GPU")


def test_a_partly_filled_block_counts() -> None:
    assert [blocks_for(tokens, 800) for tokens in (0, 1, 800, 801)] == [0, 1, 1, 2]


class TestAttention:
    def group(self, blocks: int = 10) -> tuple[BlockPool, AttentionGroup, Table]:
        pool = BlockPool(blocks + 1, 1)
        return pool, AttentionGroup(pool, 0, 16), Table()

    def test_need_is_what_is_not_covered(self) -> None:
        _, group, table = self.group()
        assert group.need(table, 40, (), 0) == 3
        group.extend(table, 40)
        assert table.blocks == {0: 1, 1: 2, 2: 3}
        assert group.need(table, 48, (), 0) == 0
        assert group.need(table, 49, (), 0) == 1

    def test_hits_that_nobody_holds_count_as_need(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 32)
        group.register(table, HASHES, 32)
        assert group.need(Table(), 48, [1, 2], 2) == 1  # held by the other request
        pool.free([2, 1])
        assert group.need(Table(), 48, [1, 2], 2) == 3

    def test_only_full_blocks_are_registered_with_one_event_for_the_range(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 47)
        group.register(table, HASHES, 47)
        assert pool.events == [stored(None, 100, 101)]
        group.register(table, HASHES, 47)
        group.register(table, HASHES, 48)
        assert pool.events[1:] == [stored(101, 102)]

    def test_hit_blocks_are_not_registered_again(self) -> None:
        pool, group, table = self.group()
        group.extend(table, 32)
        group.register(table, HASHES, 32)
        pool.events.clear()
        other = Table()
        group.hold_hits(other, [1, 2], 2, 32)
        group.extend(other, 48)
        group.register(other, HASHES, 48)
        assert other.blocks == {0: 1, 1: 2, 2: 3}
        assert pool.events == [stored(101, 102)]


class TestRecurrent:
    def group(self, blocks: int = 10) -> tuple[BlockPool, RecurrentGroup, Table]:
        pool = BlockPool(blocks + 1, 1)
        return pool, RecurrentGroup(pool, 0, 16), Table()

    def chunk(self, group: RecurrentGroup, table: Table, end: int, processed: int) -> None:
        group.skip(table, processed)
        group.extend(table, end)
        group.register(table, HASHES, end)

    def test_a_chunk_takes_one_block_however_long_it_is(self) -> None:
        _, group, table = self.group()
        assert group.need(table, 64, (), 0) == 1
        group.extend(table, 64)
        assert (table.blocks, table.length) == ({3: 1}, 4)
        assert group.need(table, 64, (), 0) == 0

    def test_only_chunk_ends_on_a_boundary_become_checkpoints(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 40, 0)
        assert pool.events == [stored(None)]  # two positions are full, neither has a state
        self.chunk(group, table, 48, 40)
        assert pool.events[1:] == [stored(101, 102)]
        assert pool.cached[0] == {102: 1}

    def test_synchronous_prefill_holds_two_states_and_decode_one(self) -> None:
        pool, group, table = self.group()
        held = []
        for end in (32, 64, 96):
            self.chunk(group, table, end, end - 32)
            held.append(len(table.blocks))
        assert held == [1, 2, 2]
        group.skip(table, 96)
        assert list(table.blocks) == [5]
        assert pool.free_queue()[-2:] == [1, 2]  # still findable

    def test_with_a_step_in_flight_checkpoints_of_long_chunks_stay_held(self) -> None:
        _, group, table = self.group()
        for end in (32, 64, 96):
            self.chunk(group, table, end, max(end - 64, 0))
        assert list(table.blocks) == [1, 3, 5]

    def test_with_a_step_in_flight_states_of_one_block_chunks_return_a_step_later(self) -> None:
        _, group, table = self.group()
        held = []
        for end in (16, 32, 48, 64, 80):
            self.chunk(group, table, end, max(end - 32, 0))
            held.append(list(table.blocks))
        assert held == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]

    def test_nobody_starts_from_a_checkpoint_made_in_this_step_even_from_an_older_copy(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 16, 0)
        group.made_this_step.clear()
        assert group.need(Table(), 40, [1], 1) == 1
        self.chunk(group, Table(), 16, 0)
        assert pool.cached[0] == {100: 1}
        assert group.need(Table(), 40, [1], 1) is None

    def test_a_hit_is_held_and_given_back_when_the_state_moved_on(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 32, 0)
        pool.free(table.blocks.values())
        other = Table()
        group.hold_hits(other, [1], 2, 32)
        assert (other.blocks, other.length, other.registered) == ({1: 1}, 2, 2)
        self.chunk(group, other, 40, 32)
        assert other.blocks == {1: 1, 2: 2}
        self.chunk(group, other, 41, 40)
        assert other.blocks == {2: 2}

    def test_a_hit_below_loaded_tokens_is_not_held(self) -> None:
        pool, group, table = self.group()
        self.chunk(group, table, 32, 0)
        pool.free(table.blocks.values())
        other = Table()
        group.hold_hits(other, [1], 2, 64)
        group.extend(other, 64)
        assert (other.blocks, other.length, other.registered) == ({3: 2}, 4, 3)
