"""What several kinds of group hit together: a row is a group, x a cached block, . one that is not."""

import pytest

from sim.kv.extent import Extent
from sim.kv.group_spec import GroupSpec
from sim.kv.hit_search import HitSearch
from sim.kv.pool import BlockPool
from sim.kv.runs import BlockRuns

FULL = GroupSpec("full", 16)


def window(tokens: int, block_tokens: int = 16) -> GroupSpec:
    return GroupSpec("sliding_window", block_tokens, tokens)


def search(
    specs: list[GroupSpec], rows: list[str], limit: int, *, drops: bool = False
) -> tuple[int, list[list[int]], int]:
    """Return the hit's tokens, its positions by group, and the full-attention run."""
    pool = BlockPool(1000, len(specs))
    ids = BlockRuns([range(100)])
    unit = min(spec.block_tokens for spec in specs)
    for group, (spec, row) in enumerate(zip(specs, rows, strict=True)):
        for position, mark in enumerate(row):
            if mark == "x":
                extent = Extent(group, position)
                pool.allocate(extent, 1)
                pool.register(extent, ids.every(spec.block_tokens // unit), position + 1)
    found = HitSearch(pool, specs, drops_last_block=drops).find(ids, limit)
    blocks = [[at for _, start, stop in parts for at in range(start, stop)] for parts in found.blocks]
    return found.tokens, blocks, found.full_tokens


class TestWindow:
    def test_only_its_window_need_be_there(self) -> None:
        tokens, blocks, run = search([window(32), FULL], [".....xx...", "xxxxxxxxx."], 160)
        assert (tokens, blocks, run) == (112, [[5, 6], [*range(7)]], 144)

    def test_a_hole_in_the_window_moves_the_hit_before_it(self) -> None:
        assert search([window(48), FULL], ["xxxx.xx", "xxxxxxx"], 120)[0] == 64

    def test_a_prefix_shorter_than_the_window_is_a_hit(self) -> None:
        assert search([window(128), FULL], ["xx.xx", "xxxxx"], 90)[:2] == (32, [[0, 1], [0, 1]])

    def test_without_a_window_there_is_no_hit_however_long_the_run(self) -> None:
        assert search([window(128), FULL], ["." * 20, "x" * 20], 400)[0] == 0

    def test_all_groups_of_a_window_need_it(self) -> None:
        rows = ["..xxxx", "xxx.xx", "xxxxxx"]
        assert search([window(32), window(32), FULL], rows, 100)[0] == 96
        assert search([window(48), window(48), FULL], rows, 100)[0] == 0

    def test_two_windows_agree_where_both_are_whole(self) -> None:
        # the narrow one alone is hit at 96, the wide one at 48: there the narrow one is asked again
        rows = ["xxx.xx", "xxx.xx", "xxxxxx"]
        assert search([window(17), window(48), FULL], rows, 100)[0] == 48

    def test_a_window_of_one_token_needs_only_the_block_that_is_dropped(self) -> None:
        rows = [".....x", "xxxxxx"]
        assert search([window(1), FULL], rows, 100, drops=True)[:2] == (80, [[], [*range(5)]])

    def test_a_model_of_windows_alone(self) -> None:
        assert search([window(32)], ["..xx.x"], 100)[:2] == (64, [[2, 3]])


class TestChunks:
    CHUNKED = GroupSpec("chunked_local", 16, 64)

    def test_only_the_chunk_of_the_end_is_looked_up(self) -> None:
        rows = ["........xx.", "xxxxxxxxxxx"]
        assert search([self.CHUNKED, FULL], rows, 176)[:2] == (160, [[8, 9], [*range(10)]])

    def test_what_is_missing_in_it_ends_the_hit(self) -> None:
        assert search([self.CHUNKED, FULL], ["........x.x", "xxxxxxxxxxx"], 176)[0] == 144

    def test_at_the_end_of_a_chunk_nothing_is(self) -> None:
        assert search([self.CHUNKED, FULL], ["." * 8, "x" * 8], 128)[:2] == (128, [[], [*range(8)]])


class TestUnequalBlocks:
    def test_a_hit_ends_with_the_largest_block(self) -> None:
        specs = [window(24), GroupSpec("full", 64)]
        assert search(specs, ["xxxxxxxx", "xx"], 150)[0] == 128
        assert search(specs, ["xxxxxxx.", "xx"], 150)[0] == 64

    def test_the_run_that_begins_the_prompt_is_shortened_to_one(self) -> None:
        assert search([window(200), GroupSpec("full", 32)], ["xxx", "xx"], 60)[0] == 32


class TestDrop:
    """With EAGLE each attention group loses its last block, once."""

    def test_of_a_plain_run(self) -> None:
        assert search([FULL], ["xxxx"], 79, drops=True)[0] == 48
        assert search([FULL], ["xxxx"], 32, drops=True)[0] == 16

    def test_a_window_looks_one_block_further_instead(self) -> None:
        rows = ["x" * 20, "x" * 20]
        assert search([window(128), FULL], rows, 330, drops=True)[0] == 304

    def test_it_needs_one_block_more(self) -> None:
        assert search([window(32), FULL], ["..xx..", "xxxxxx"], 100, drops=True)[0] == 0
        assert search([window(32), FULL], ["..xxx.", "xxxxxx"], 100, drops=True)[0] == 64


@pytest.mark.parametrize("limit", range(0, 100, 9))
def test_a_hit_is_never_longer_than_the_limit(limit: int) -> None:
    assert search([window(18), FULL], ["x" * 6, "x" * 6], limit)[0] == limit - limit % 16
