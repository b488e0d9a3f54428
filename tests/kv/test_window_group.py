"""A group that reads a window: what it holds, lets go, and makes findable; numbers of vLLM 0.28.0."""

import pytest

from sim.kv.draft_rules import DraftRules
from sim.kv.group_spec import GroupSpec
from sim.kv.groups import Table
from sim.kv.pool import BlockPool
from sim.kv.runs import BlockRuns
from sim.kv.window_group import WindowGroup, hit_blocks
from tests.kv.helpers import cached

HASHES = BlockRuns([range(100)])


def sliding(window: int, block_tokens: int = 16) -> GroupSpec:
    return GroupSpec("sliding_window", block_tokens, window)


def group_of(spec: GroupSpec, **options: int) -> tuple[BlockPool, WindowGroup]:
    pool = BlockPool(101, 1)
    return pool, WindowGroup(pool, 0, spec, **{"aligned_tokens": spec.block_tokens} | options)


def held(group: WindowGroup, steps: list[tuple[int, int]]) -> list[int]:
    """Blocks held after each step: tokens processed before it, tokens covered by it."""
    table, counts = Table(), list[int]()
    for processed, covered in steps:
        group.skip(table, processed)
        group.extend(table, covered)
        group.register(table, HASHES, covered)
        counts.append(table.held_blocks)
    return counts


class TestHeld:
    """A prompt in chunks of 128 tokens, then decodes."""

    def test_a_window_of_128_synchronously(self) -> None:
        _, group = group_of(sliding(128))
        steps = [(0, 128), (128, 256), (256, 384), (384, 512), (512, 640), (640, 641)]
        assert held(group, steps) == [8, 16, 16, 16, 16, 9]

    def test_with_a_step_in_flight_it_is_freed_a_step_later(self) -> None:
        _, group = group_of(sliding(128))
        steps = [(0, 128), (0, 256), (128, 384), (256, 512), (384, 640), (512, 641), (640, 642), (641, 643)]
        assert held(group, steps) == [8, 16, 24, 24, 24, 17, 9, 9]

    def test_a_window_that_is_no_number_of_blocks(self) -> None:
        _, group = group_of(sliding(90))
        assert held(group, [(0, 128), (128, 256), (256, 384), (384, 400), (400, 401)]) == [8, 14, 14, 7, 7]

    def test_a_chunk_of_local_attention_with_a_step_in_flight(self) -> None:
        _, group = group_of(GroupSpec("chunked_local", 16, 64))
        steps = [(0, 128), (0, 256), (128, 300), (256, 301), (300, 302), (301, 303), (303, 304), (304, 305)]
        assert held(group, steps) == [8, 16, 11, 3, 3, 3, 3, 4]

    def test_still_tokens_says_when_the_next_block_leaves(self) -> None:
        for spec in (sliding(90), GroupSpec("chunked_local", 16, 64)):
            _, group = group_of(spec)
            for processed in range(60, 400, 7):
                gone = [group.skipped_tokens(processed + n) // 16 for n in range(100)]
                still = group.still_tokens(processed)
                assert gone[still] == gone[0] < gone[still + 1]

    def test_blocks_that_left_are_findable_and_go_first(self) -> None:
        pool, group = group_of(sliding(32))
        table = Table()
        group.extend(table, 96)
        group.register(table, HASHES, 96)
        group.skip(table, 96)
        assert (table.held_blocks, cached(pool)) == (2, [0, 1, 2, 3, 4, 5])
        assert pool.free_queue()[-4:] == [(3, 0), (2, 0), (1, 0), (0, 0)]
        pool.free(table.from_the_end())
        assert pool.free_queue()[-2:] == [(5, 0), (4, 0)]


class TestAdmission:
    @pytest.mark.parametrize(
        ("spec", "in_flight", "most"),
        [
            (sliding(128), 128, 17),
            (sliding(128), 256, 25),
            (sliding(128), 8192, 521),
            (sliding(128), 2 * 8192, 1033),
            (sliding(1024), 2 * 16384, 2113),
            (GroupSpec("chunked_local", 16, 8192), 8192, 1024),
            (GroupSpec("chunked_local", 16, 8192), 2 * 8192, 1536),
        ],
    )
    def test_a_whole_sequence_counts_a_window_and_what_is_in_flight(
        self, spec: GroupSpec, in_flight: int, most: int
    ) -> None:
        _, group = group_of(spec, in_flight_tokens=in_flight)
        assert group.need(None, 100_000, 0, (), 0, capped=True) == most
        assert group.need(None, 100_000, 0, (), 0, capped=False) == 6250

    def test_what_lies_before_the_window_is_not_needed(self) -> None:
        _, group = group_of(sliding(32))
        assert group.need(None, 161, 160, (), 0, capped=False) == 11 - 8

    def test_hits_before_the_window_are_not_held(self) -> None:
        pool, group = group_of(sliding(32))
        table = Table()
        group.extend(table, 64)
        group.register(table, HASHES, 64)
        pool.free(table.from_the_end())
        other, hits = Table(), pool.run(HASHES, 4, 0)
        assert group.need(None, 65, 64, hits, 64, capped=False) == 1 + 2
        group.hold_hits(other, hits, 64, 64)
        assert (list(other.parts), other.length, other.registered) == ([2], 4, 4)


class TestWindowOfOneToken:
    """It reads nothing that was computed before: vLLM 0.28.0 makes no block findable, with EAGLE all."""

    @pytest.mark.parametrize(("drops", "findable"), [(False, []), (True, [0, 1, 2, 3])])
    def test_blocks_are_findable_only_where_hits_lose_one(self, drops: bool, findable: list[int]) -> None:
        pool = BlockPool(101, 1)
        rules = DraftRules(2, 2, drops_last_block=True) if drops else DraftRules()
        group, table = WindowGroup(pool, 0, sliding(1), rules, aligned_tokens=16), Table()
        group.extend(table, 64)
        group.register(table, HASHES, 64)
        assert (cached(pool), table.registered) == (findable, 4)
        (event,) = pool.events
        assert [*event.blocks] == findable


class TestUnequalBlocks:
    """Beside full attention in blocks of 64, a hit ends at a multiple of 64."""

    def test_only_what_a_hit_reads_is_findable(self) -> None:
        pool, group = group_of(sliding(24), aligned_tokens=64)
        table = Table()
        group.extend(table, 128)
        group.register(table, HASHES, 128)
        assert cached(pool) == [2, 3, 6, 7]
        (event,) = pool.events
        assert (event.parent, [*event.blocks]) == (None, [2, 3, 6, 7])
        pool.free(table.from_the_end())
        assert pool.free_queue()[-4:] == [(7, 0), (6, 0), (3, 0), (2, 0)]

    def test_where_hits_lose_a_block_one_more_is_findable_and_all_lie_a_block_later(self) -> None:
        pool = BlockPool(101, 1)
        rules = DraftRules(3, 3, drops_last_block=True)
        group, table = WindowGroup(pool, 0, sliding(18), rules, aligned_tokens=128), Table()
        group.extend(table, 256)
        group.register(table, HASHES, 256)
        assert cached(pool) == [6, 7, 8, 14, 15]

    def test_a_block_that_leaves_before_it_is_findable_never_is(self) -> None:
        pool, group = group_of(sliding(8), aligned_tokens=64)
        table = Table()
        group.extend(table, 64)
        group.skip(table, 60)
        group.register(table, HASHES, 64)
        assert cached(pool) == [3]


def test_a_hit_reads_the_window_without_the_token_itself() -> None:
    windows = {128: 8, 100: 7, 8: 1, 16: 1, 17: 1, 18: 2, 1: 0}
    assert {window: hit_blocks(sliding(window)) for window in windows} == windows
