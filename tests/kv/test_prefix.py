import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns

sizes = st.integers(1, 9)
Case = tuple[int, int, list[tuple[list[int], int]]]


@st.composite
def prompts(draw: st.DrawFn) -> Case:
    """Chunk size, block size and prompts that often share prefixes: few ids, short prompts."""
    chunk_tokens, block_tokens = draw(sizes), draw(sizes)
    lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    return (
        chunk_tokens,
        block_tokens,
        [
            (draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), length)
            for length in lengths
            for n in [-(-length // chunk_tokens)]
        ],
    )


def tokens(chunks: list[int], chunk_tokens: int, length: int) -> list[tuple[int, int, int]]:
    """Return the prompt token by token: a token is known by its chunk's id and size and its place in it."""
    return [
        (
            chunks[at // chunk_tokens],
            min(chunk_tokens, length - at // chunk_tokens * chunk_tokens),
            at % chunk_tokens,
        )
        for at in range(length)
    ]


@given(prompts())
def test_two_blocks_share_an_id_exactly_when_all_tokens_up_to_their_ends_are_equal(case: Case) -> None:
    chunk_tokens, block_tokens, rows = case
    table = PrefixTable(chunk_tokens, block_tokens)
    id_of: dict[tuple[object, ...], int] = {}
    for chunks, length in rows:
        blocks = list(table.add(chunks, length).blocks)
        assert len(blocks) == length // block_tokens
        assert blocks == sorted(blocks)
        text = tokens(chunks, chunk_tokens, length)
        for index, block in enumerate(blocks):
            assert id_of.setdefault(tuple(text[: (index + 1) * block_tokens]), block) == block
    assert len(set(id_of.values())) == len(id_of)


@given(prompts())
def test_required_tokens_are_those_behind_the_longest_prefix_seen(case: Case) -> None:
    chunk_tokens, block_tokens, rows = case
    table = PrefixTable(chunk_tokens, block_tokens)
    earlier: list[list[tuple[int, int, int]]] = []
    for chunks, length in rows:
        text = tokens(chunks, chunk_tokens, length)
        shared = max((common(text, other) for other in earlier), default=0)
        assert table.required_tokens(chunks, length) == length - shared
        assert table.add(chunks, length).required_tokens == length - shared
        earlier.append(text)


def common(left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def test_to_ask_is_not_to_remember() -> None:
    table = PrefixTable(16, 16)
    assert table.required_tokens([1, 2, 3], 40) == 40
    assert table.add([1, 2], 32).required_tokens == 32
    assert table.required_tokens([1, 2, 3], 40) == 8
    assert table.add([1, 2, 3], 40).required_tokens == 8
    with pytest.raises(ValueError, match="3 chunks of 16 tokens do not make 49 tokens"):
        table.required_tokens([1, 2, 3], 49)


def blocks_of(table: PrefixTable, chunks: list[int], length: int) -> list[int]:
    return list(table.add(chunks, length).blocks)


def test_a_block_is_named_by_every_chunk_before_it() -> None:
    table = PrefixTable(chunk_tokens=64, block_tokens=128)
    assert blocks_of(table, [1, 2, 3, 4], 256) == [0, 1]
    assert blocks_of(table, [1, 2, 3, 5], 256) == [0, 2]
    assert blocks_of(table, [9, 2, 3, 4], 256) == [3, 4]


def test_a_chunk_that_straddles_two_blocks_names_both() -> None:
    table = PrefixTable(chunk_tokens=64, block_tokens=96)
    assert blocks_of(table, [1, 2, 3], 192) == [0, 1]
    assert blocks_of(table, [1, 7, 3], 192) == [2, 3], "the first 64 tokens alone make no block"


def test_a_chunk_of_several_blocks_gives_each_an_id() -> None:
    table = PrefixTable(chunk_tokens=512, block_tokens=128)
    assert blocks_of(table, [1, 2], 1024) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert blocks_of(table, [1, 3], 1024) == [0, 1, 2, 3, 8, 9, 10, 11]


def test_a_long_prompt_is_a_run_for_every_place_where_it_left_another() -> None:
    table = PrefixTable(64, 64)
    table.add(range(3000), 3000 * 64)
    assert table.add(range(3000), 3000 * 64) == (BlockRuns([range(3000)]), 0)
    left = [*range(1777), *range(5000, 5100)]
    assert table.add(left, 1877 * 64) == (BlockRuns([range(1777), range(3000, 3100)]), 100 * 64)
    assert table.add(range(2000), 2000 * 64) == (BlockRuns([range(2000)]), 0)


def test_a_partial_chunk_is_no_part_of_the_full_chunk_of_the_same_id() -> None:
    table = PrefixTable(512, 16)
    assert table.add([7, 8], 1024).required_tokens == 1024
    assert table.add([7, 8], 512 + 182).required_tokens == 182
    assert table.add([7, 8], 512 + 182).required_tokens == 0
    assert table.add([7, 8], 512 + 183).required_tokens == 183
    assert table.add([7, 8, 9], 1024 + 1).required_tokens == 1


def test_a_full_chunk_is_no_partial_one_that_came_before() -> None:
    table = PrefixTable(512, 16)
    assert table.add([7, 8], 512 + 182).required_tokens == 512 + 182
    assert table.add([7, 8], 1024).required_tokens == 512
    assert table.add([7, 182], 512 + 182).required_tokens == 182


def test_tokens_behind_the_last_full_block_name_no_block() -> None:
    table = PrefixTable(40, 16)
    blocks, required_tokens = table.add([5], 40)
    assert len(blocks) == 2, "48 tokens are never matched of a prompt of 40"
    assert required_tokens == 40
    assert table.add([5], 40).required_tokens == 0


def test_required_tokens_go_on_chunk_by_chunk_inside_a_new_block() -> None:
    table = PrefixTable(64, 800)
    assert table.add(range(20), 1280).required_tokens == 1280
    assert table.add([*range(15), 99, 98, 97, 96, 95], 1280).required_tokens == 5 * 64


def test_ids_that_differ_only_above_bit_31_or_53_are_different() -> None:
    table = PrefixTable(16, 16)
    ids = [1, 1 + 2**32, 1 + 2**53, 2 + 2**53, 2**63, 2**64 - 1]
    assert len({table.add([i], 16).blocks[0] for i in ids}) == len(ids)


def test_private_blocks_belong_to_no_prompt() -> None:
    table = PrefixTable(16, 16)
    assert blocks_of(table, [1, 2], 32) == [0, 1]
    assert list(table.private_blocks(2)) == [2, 3]
    assert blocks_of(table, [1, 2, 3], 48) == [0, 1, 4]


@pytest.mark.parametrize("n_chunks", [0, 1, 3])
def test_chunks_must_fit_the_tokens(n_chunks: int) -> None:
    with pytest.raises(ValueError, match=f"{n_chunks} chunks of 64 tokens do not make 100 tokens"):
        PrefixTable(64, 16).add([1] * n_chunks, 100)


def test_blocks_of_an_earlier_prompt_and_answer_are_taken_over_under_any_chunks() -> None:
    table = PrefixTable(64, 16)
    blocks, required_tokens = table.add([1, 2], 100)
    sequence = BlockRuns([*blocks.ranges, table.private_blocks(2)])  # up to token 128: 28 tokens of answer
    assert [*sequence] == [0, 1, 2, 3, 4, 5, 6, 7]
    grown = table.add([1, 3, 4], 192, sequence)
    assert [*grown.blocks] == [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15]
    assert (required_tokens, grown.required_tokens) == (100, 128), "whole chunks tell what is known"
    assert table.add([1, 3, 4, 5], 256).blocks[:12] == grown.blocks
    assert table.add([1, 2], 100).blocks == blocks


def test_a_prompt_that_leaves_another_inside_what_that_took_over_shares_its_beginning() -> None:
    table = PrefixTable(32, 16)
    table.add([1], 20)
    grown = table.add([2, 3, 4], 96, BlockRuns([range(1), range(50, 54)])).blocks
    assert [*grown] == [0, 50, 51, 52, 53, 6]
    assert [*table.add([2, 3, 9], 96).blocks] == [0, 50, 51, 52, 7, 8]
    assert [*table.add([2, 3, 4, 5], 128).blocks] == [0, 50, 51, 52, 53, 6, 9, 10]
    assert [*table.add([2, 7], 64).blocks] == [0, 50, 11, 12]


def test_what_an_earlier_prompt_named_otherwise_keeps_its_names() -> None:
    table = PrefixTable(16, 16)
    table.add([1, 2], 32)
    sequence = BlockRuns([range(1), range(70, 73)])
    assert [*table.add([1, 2, 3], 48, sequence).blocks] == [0, 1, 2], "block 1 is not block 70"
    assert [*table.add([1, 4, 5, 6], 64, sequence).blocks] == [0, 70, 71, 72]
    assert [*table.add([1, 4, 9], 48, sequence).blocks] == [0, 70, 71], "one that is the same goes on"


def test_to_inherit_less_than_is_known_adds_nothing() -> None:
    table = PrefixTable(16, 16)
    table.add([1, 2], 32)
    assert [*table.add([1, 2, 3], 48, BlockRuns([range(1)])).blocks] == [0, 1, 2]
    assert [*table.add([8], 16, BlockRuns([])).blocks] == [3]
