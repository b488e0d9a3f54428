"""The block pool: the order of the free queue, eviction, copies of one content."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.extent import Extent, Part, block_numbers
from sim.kv.pool import NULL_BLOCK, BlockPool
from sim.kv.runs import BlockRuns
from tests.kv.helpers import cached, contents, copies


def pool_of(blocks: int, groups: int = 1) -> BlockPool:
    """A pool of so many usable blocks, with numbers from 1 on."""
    pool = BlockPool(blocks + 1, groups)
    pool.number_blocks()
    return pool


def take(
    pool: BlockPool, count: int, block_ids: Sequence[int] = (), *, first: int = 0, group: int = 0
) -> Part:
    """Allocate blocks from position `first` on; register those that have a hash of the prompt."""
    extent = Extent(group, first)
    pool.allocate(extent, count)
    if block_ids:
        pool.register(extent, BlockRuns.of(block_ids), end=len(block_ids))
    return extent, first, first + count


def removed(pool: BlockPool) -> list[tuple[int, list[int]]]:
    """Group and block ids of the events, which are all removals."""
    assert not any(event.stored or event.parent for event in pool.events)
    return [(event.group, [*event.blocks]) for event in pool.events]


def test_the_null_block_is_never_given_out() -> None:
    pool = pool_of(3)
    assert pool.free_blocks == 3
    assert block_numbers([take(pool, 3)]) == [1, 2, 3]
    assert pool.free_blocks == 0
    assert pool.free_queue() == []


def test_more_than_is_free_is_refused_and_leaves_no_trace() -> None:
    pool = pool_of(3)
    take(pool, 1)
    before, extent = contents(pool), Extent(0, 0)
    with pytest.raises(ValueError, match="3 blocks asked for, 2 free"):
        pool.allocate(extent, 3)
    assert (contents(pool), extent.numbers) == (before, [])
    assert (pool.used_blocks, pool.free_blocks) == (1, 2)


def test_a_pool_without_usable_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="not 1 blocks"):
        BlockPool(1, 1)


def test_numbers_come_before_the_first_block() -> None:
    pool = BlockPool(4, 1)
    part = take(pool, 2)
    assert (block_numbers([part]), pool.taken) == ([], [])
    with pytest.raises(ValueError, match="no number"):
        pool.number_blocks()


def test_blocks_without_a_hash_return_to_the_front_and_cached_ones_to_the_back() -> None:
    pool = pool_of(8)
    first, second = take(pool, 3, [20]), take(pool, 2, [20, 40])  # 1 2 3, 4 5
    pool.free([first, second])
    assert pool.free_queue() == [None] * 5 + [(20, 0), (40, 0), (20, 0)]
    assert block_numbers([take(pool, 8)]) == [3, 2, 6, 7, 8, 1, 5, 4]


def test_of_several_parts_the_first_ends_up_in_front() -> None:
    pool = pool_of(6)
    parts = [take(pool, 2), take(pool, 1, [7]), take(pool, 2)]  # 1 2, 3, 4 5
    pool.free(parts)
    assert block_numbers([take(pool, 6)]) == [2, 1, 5, 4, 6, 3]


def test_allocation_evicts_from_the_front_the_deepest_first_and_says_so() -> None:
    pool = pool_of(5, groups=2)
    pool.free([take(pool, 3, [10, 11, 30]), take(pool, 2, [20, 21], group=1)])
    assert pool.events == []
    take(pool, 1)
    assert removed(pool) == [(0, [30])]
    take(pool, 3)
    assert removed(pool)[1:] == [(0, [11, 10]), (1, [21])]
    assert pool.events[1].blocks == range(11, 9, -1)
    assert (cached(pool, 0), cached(pool, 1)) == ([], [20])


def test_touching_takes_a_block_out_of_the_queue_once() -> None:
    pool = pool_of(3)
    part = take(pool, 1, [10])
    pool.free([part])
    assert pool.count_free([part]) == 1
    pool.touch([part])
    pool.touch([part])
    assert pool.count_free([part]) == 0
    assert pool.free_queue() == [None, None]
    pool.free([part])
    assert pool.free_queue() == [None, None]
    pool.free([part])
    assert pool.free_queue() == [None, None, (10, 0)]


def test_what_is_touched_leaves_the_rest_in_its_place() -> None:
    pool = pool_of(8)
    extent, *_ = part = take(pool, 4, [10, 11, 12, 13])
    pool.free([part, take(pool, 2, [20, 21])])
    middle = (extent, 1, 3)
    pool.touch([middle])
    assert pool.free_queue() == [None, None, (13, 0), (10, 0), (21, 0), (20, 0)]
    assert pool.count_free([part]) == 2
    assert pool.count_free([(extent, 0, 2)]) == 1
    pool.free([middle])
    assert pool.free_queue()[2:] == [(13, 0), (10, 0), (21, 0), (20, 0), (12, 0), (11, 0)]


def test_a_stretch_is_one_piece_again_when_it_shares_its_fate() -> None:
    pool = pool_of(8)
    extent, *_ = part = take(pool, 4, [10, 11, 12, 13])
    head = (extent, 0, 2)
    pool.touch([head])
    assert [(segment.start, segment.references) for segment in extent.segments] == [(0, 2), (2, 1)]
    pool.free([head])
    assert [(segment.start, segment.stop) for segment in extent.segments] == [(0, 4)]
    pool.touch([head])
    pool.free([part])
    pool.free([head])
    assert [(segment.start, segment.stop) for segment in extent.segments] == [(0, 4)]
    assert pool.free_queue()[4:] == [(13, 0), (12, 0), (11, 0), (10, 0)]


def test_blocks_register_as_they_fill() -> None:
    pool = pool_of(8)
    extent = Extent(0, 0)
    pool.allocate(extent, 3)
    for end in (1, 2):
        pool.register(extent, BlockRuns.of([10, 11, 12]), end)
    assert (cached(pool), len(extent.segments)) == ([10, 11], 1)
    pool.touch([(extent, 0, 2)])
    pool.register(extent, BlockRuns.of([10, 11, 12]), 3)
    assert [segment.references for segment in extent.segments] == [2, 1]


def test_a_run_stops_at_the_first_gap() -> None:
    pool = pool_of(6)
    first, _, _ = take(pool, 2, [10, 20])
    take(pool, 1, [10, 20, 30, 40], first=3)
    prompt = BlockRuns.of([10, 20, 30, 40])
    assert pool.run(prompt, 4, 0) == [(first, 0, 2)]
    assert pool.run(prompt, 1, 0) == [(first, 0, 1)]
    assert pool.run(BlockRuns.of([30, 40]), 2, 0) == []


def test_a_run_goes_through_the_oldest_copies() -> None:
    pool = pool_of(9)
    prompt = BlockRuns.of([10, 11, 12, 30, 31])
    old, _, _ = take(pool, 2, [10, 11])
    new, _, _ = take(pool, 5, prompt)
    assert pool.run(prompt, 5, 0) == [(old, 0, 2), (new, 2, 5)]
    assert copies(pool) == {10: 2, 11: 2, 12: 1, 30: 1, 31: 1}


def test_eviction_of_one_copy_leaves_the_others() -> None:
    pool = pool_of(3)
    oldest, young, younger = (take(pool, 1, [10]) for _ in range(3))
    prompt = BlockRuns.of([10])
    pool.free([young, oldest, younger])
    for left in ([oldest], [younger], []):
        take(pool, 1)
        assert pool.run(prompt, 1, 0) == left
    assert removed(pool) == [(0, [10])] * 3


def test_taken_logs_what_was_allocated_and_touched() -> None:
    pool = pool_of(4)
    extent, *_ = take(pool, 3, [10, 11, 12])
    pool.touch([(extent, 1, 3)])
    assert pool.taken == [1, 2, 3, 2, 3]


def test_changes_count_every_change() -> None:
    pool, extent, prompt = pool_of(3), Extent(0, 0), BlockRuns.of([10])
    part = (extent, 0, 1)
    seen = {pool.changes}
    for act in (
        lambda: pool.allocate(extent, 1),
        lambda: pool.register(extent, prompt, 1),
        lambda: pool.free([part]),
        lambda: pool.touch([part]),
    ):
        act()
        assert pool.changes not in seen
        seen.add(pool.changes)
    pool.run(prompt, 1, 0)
    assert pool.changes in seen


class BlockByBlock:
    """The rules, said of single blocks."""

    def __init__(self, blocks: int) -> None:
        self.queue = [*range(1, blocks + 1)]
        self.references = dict.fromkeys([NULL_BLOCK, *self.queue], 0)
        self.content: dict[int, tuple[int, int]] = {}
        """By block: hash and group; the oldest first."""
        self.removed: list[tuple[int, int]] = []

    def find(self, block_id: int, group: int) -> int | None:
        return next((b for b, content in self.content.items() if content == (block_id, group)), None)

    def allocate(self, count: int) -> list[int]:
        blocks, self.queue = self.queue[:count], self.queue[count:]
        self.removed += [self.content.pop(block) for block in blocks if block in self.content]
        self.references |= dict.fromkeys(blocks, 1)
        return blocks

    def touch(self, blocks: list[int]) -> None:
        for block in blocks:
            self.references[block] += 1
            if block in self.queue:
                self.queue.remove(block)

    def free(self, blocks: list[int]) -> None:
        free = []
        for block in blocks:
            self.references[block] -= 1
            if not self.references[block]:
                free.append(block)
        self.queue = [block for block in free if block not in self.content] + self.queue
        self.queue += [block for block in free if block in self.content]


class Both:
    """A pool by extents and one block by block, of one group each prompt uses; they must agree."""

    def __init__(self, blocks: int) -> None:
        self.pool = pool_of(blocks, groups=2)
        self.model = BlockByBlock(blocks)
        self.held: list[tuple[BlockRuns, list[Part], list[int]]] = []
        """Prompt, parts (the last one its own), and numbers of their blocks."""

    def admit(self, prompt: BlockRuns, group: int, count: int) -> None:
        hits = self.pool.run(prompt, len(prompt), group)
        blocks = []
        for block_id in prompt:
            block = self.model.find(block_id, group)
            if block is None:
                break
            blocks.append(block)
        assert block_numbers(hits) == blocks
        idle = [block for block in blocks if not self.model.references[block]]
        assert self.pool.count_free(hits) == len(idle)
        self.pool.touch(hits)
        self.model.touch(blocks)
        self.held.append((prompt, [*hits, (Extent(group, len(blocks)), len(blocks), len(blocks))], blocks))
        self.grow(len(self.held) - 1, count)

    def grow(self, index: int, count: int) -> None:
        """Allocate blocks, and register those before them."""
        prompt, parts, blocks = self.held[index]
        extent, first, stop = parts[-1]
        full = min(stop, len(prompt))
        if full > extent.end:
            for position in range(extent.end, full):
                self.model.content[blocks[position]] = (prompt[position], extent.group)
            self.pool.register(extent, prompt, full)
        count = min(count, self.pool.free_blocks)
        self.pool.allocate(extent, count)
        blocks += self.model.allocate(count)
        parts[-1] = (extent, first, stop + count)

    def free(self, indices: list[int]) -> None:
        ends = [self.held[index] for index in indices]
        self.held = [held for held in self.held if held not in ends]
        self.pool.free([part for _, parts, _ in ends for part in reversed(parts)])
        self.model.free([block for _, _, blocks in ends for block in reversed(blocks)])

    def agree(self) -> None:
        model = self.model
        assert self.pool.free_queue() == [model.content.get(block) for block in model.queue]
        assert self.pool.free_blocks == len(model.queue)
        for group in range(2):
            there = [block_id for block_id, of in model.content.values() if of == group]
            assert copies(self.pool, group) == {h: there.count(h) for h in sorted({*there})}
        removed = [(h, event.group) for event in self.pool.events for h in event.blocks]
        assert removed == model.removed
        for _, parts, blocks in self.held:
            assert block_numbers(parts) == blocks


PROMPTS = st.tuples(st.integers(0, 6), st.sampled_from("ab"), st.integers(0, 8), st.integers(0, 3))
"""How much of the opening they share, with whom they go on, how far, and blocks of their own after that."""
ACTS = st.one_of(
    st.tuples(st.just("admit"), PROMPTS, st.integers(0, 1), st.integers(0, 16)),
    st.tuples(st.just("grow"), st.integers(0, 9), st.integers(0, 6)),
    st.tuples(st.just("free"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
)


@given(st.integers(4, 40), st.lists(ACTS, max_size=40))
def test_is_a_pool_of_single_blocks(blocks: int, acts: list[tuple]) -> None:
    both = Both(blocks)
    fresh = 10_000
    for act, *arguments in acts:
        if act == "admit":
            (shared, label, more, own), group, count = arguments
            branch = 1000 * (1 + shared) + 100 * "ab".index(label)
            prompt = [range(shared), range(branch, branch + more), range(fresh, fresh + own)]
            fresh += own
            both.admit(BlockRuns(prompt), group, count)
        elif both.held and act == "grow":
            both.grow(arguments[0] % len(both.held), arguments[1])
        elif both.held:
            both.free(sorted({index % len(both.held) for index in arguments[0]}))
        both.agree()
