import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.prefix import PrefixTable, SeenPrefixes, chunk_keys

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
        blocks = table.prompt_blocks(chunks, length)
        assert len(blocks) == length // block_tokens
        text = tokens(chunks, chunk_tokens, length)
        for index, block in enumerate(blocks):
            assert id_of.setdefault(tuple(text[: (index + 1) * block_tokens]), block) == block
    assert len(set(id_of.values())) == len(id_of)


@given(prompts())
def test_required_tokens_are_those_behind_the_longest_prefix_seen(case: Case) -> None:
    chunk_tokens, block_tokens, rows = case
    table, seen = PrefixTable(chunk_tokens, block_tokens), SeenPrefixes(chunk_tokens, block_tokens)
    earlier: list[list[tuple[int, int, int]]] = []
    for chunks, length in rows:
        text = tokens(chunks, chunk_tokens, length)
        shared = max((common(text, other) for other in earlier), default=0)
        blocks = table.prompt_blocks(chunks, length)
        assert seen.known_blocks(blocks) == shared // block_tokens
        assert seen.required_tokens(blocks, chunks, length) == length - shared
        earlier.append(text)


def common(left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def test_a_block_is_named_by_every_chunk_before_it() -> None:
    table = PrefixTable(chunk_tokens=64, block_tokens=128)
    assert table.prompt_blocks([1, 2, 3, 4], 256) == [0, 1]
    assert table.prompt_blocks([1, 2, 3, 5], 256) == [0, 2]
    assert table.prompt_blocks([9, 2, 3, 4], 256) == [3, 4]


def test_a_chunk_that_straddles_two_blocks_names_both() -> None:
    table = PrefixTable(chunk_tokens=64, block_tokens=96)
    assert table.prompt_blocks([1, 2, 3], 192) == [0, 1]
    assert table.prompt_blocks([1, 7, 3], 192) == [2, 3], "the first 64 tokens alone make no block"


def test_a_chunk_of_several_blocks_gives_each_an_id() -> None:
    table = PrefixTable(chunk_tokens=512, block_tokens=128)
    assert table.prompt_blocks([1, 2], 1024) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert table.prompt_blocks([1, 3], 1024) == [0, 1, 2, 3, 8, 9, 10, 11]


def test_a_partial_chunk_is_no_part_of_the_full_chunk_of_the_same_id() -> None:
    table, seen = PrefixTable(512, 16), SeenPrefixes(512, 16)
    full, short, again = ([7, 8], 1024), ([7, 8], 512 + 182), ([7, 8], 512 + 182)
    assert seen.required_tokens(table.prompt_blocks(*full), *full) == 1024
    assert seen.required_tokens(table.prompt_blocks(*short), *short) == 182
    assert seen.required_tokens(table.prompt_blocks(*again), *again) == 0


def test_tokens_behind_the_last_full_block_name_no_block() -> None:
    table, seen = PrefixTable(40, 16), SeenPrefixes(40, 16)
    blocks = table.prompt_blocks([5], 40)
    assert len(blocks) == 2, "48 tokens are never matched of a prompt of 40"
    assert seen.required_tokens(blocks, [5], 40) == 40
    assert seen.required_tokens(table.prompt_blocks([5], 40), [5], 40) == 0


def test_required_tokens_go_on_chunk_by_chunk_inside_a_new_block() -> None:
    table, seen = PrefixTable(64, 800), SeenPrefixes(64, 800)
    first, second = list(range(20)), [*range(15), 99, 98, 97, 96, 95]
    assert seen.required_tokens(table.prompt_blocks(first, 1280), first, 1280) == 1280
    assert seen.required_tokens(table.prompt_blocks(second, 1280), second, 1280) == 5 * 64


def test_ids_that_differ_only_above_bit_31_or_53_are_different() -> None:
    table = PrefixTable(16, 16)
    ids = [1, 1 + 2**32, 1 + 2**53, 2 + 2**53, 2**63, 2**64 - 1]
    assert len({table.prompt_blocks([i], 16)[0] for i in ids}) == len(ids)


def test_private_blocks_belong_to_no_prompt() -> None:
    table = PrefixTable(16, 16)
    assert table.prompt_blocks([1, 2], 32) == [0, 1]
    assert table.private_blocks(2) == [2, 3]
    assert table.prompt_blocks([1, 2, 3], 48) == [0, 1, 4]


def test_a_partial_chunk_has_a_key_of_its_own() -> None:
    assert chunk_keys([3, 4], 64, 128) == (3, 4)
    assert len({chunk_keys([3, i], 64, 64 + size)[1] for i in range(4) for size in range(1, 65)}) == 4 * 64


@pytest.mark.parametrize("n_chunks", [0, 1, 3])
def test_chunks_must_fit_the_tokens(n_chunks: int) -> None:
    with pytest.raises(ValueError, match=f"{n_chunks} chunks of 64 tokens do not make 100 tokens"):
        PrefixTable(64, 16).prompt_blocks([1] * n_chunks, 100)
