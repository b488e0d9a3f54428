from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.ledger.frontiers import Frontiers


def test_only_blocks_that_no_earlier_prompt_had_are_new():
    frontiers = Frontiers(10)

    assert frontiers.sent(BlockRuns([range(3)]), 0) == [range(3)]
    assert frontiers.sent(BlockRuns([range(5)]), 30) == [range(3, 5)]
    assert frontiers.sent(BlockRuns([range(2), range(8, 9)]), 20) == [range(8, 9)]
    assert frontiers.sent(BlockRuns([range(2), range(8, 9)]), 30) == []


def test_tokens_are_fresh_once():
    frontiers, blocks = Frontiers(10), BlockRuns([range(3)])
    frontiers.sent(blocks, 0)

    assert frontiers.advance(blocks, 0, 14) == [(0, 14)]
    assert frontiers.advance(blocks, 0, 12) == []
    assert frontiers.advance(blocks, 10, 25) == [(14, 20), (20, 25)]
    assert [*frontiers.segments(0, 3)] == [(True, 0, 2), (False, 2, 3)]
    assert frontiers.done_until(blocks, 0) == 2


def test_tokens_that_a_hit_jumps_over_count_as_computed():
    frontiers, blocks = Frontiers(10), BlockRuns([range(3)])
    frontiers.sent(blocks, 0)

    assert frontiers.advance(blocks, 15, 20) == [(15, 20)]
    assert frontiers.advance(blocks, 0, 30) == [(0, 10), (20, 30)]


def test_an_earlier_prompt_that_branches_off_inside_a_block_has_the_tokens_before():
    frontiers = Frontiers(10)
    frontiers.sent(BlockRuns([range(2)]), 0)
    branch = BlockRuns([range(1), range(2, 4)])
    frontiers.sent(branch, 14)

    assert frontiers.advance(branch, 0, 13) == [(0, 10)]
    assert frontiers.advance(branch, 13, 30) == [(14, 20), (20, 30)]


def test_what_decode_made_is_nobodys_first_and_stays_its_until_a_prefill_computes_it():
    frontiers, blocks = Frontiers(10), BlockRuns([range(5)])
    frontiers.answered([range(2, 4)])
    assert frontiers.sent(blocks, 40) == [range(4, 5)]
    assert [*frontiers.made(0, 5)] == [(False, 0, 2), (True, 2, 4), (False, 4, 5)]

    assert frontiers.advance(blocks, 20, 35) == []
    assert [*frontiers.made(2, 4)] == [(False, 2, 3), (True, 3, 4)]
    assert frontiers.advance(blocks, 35, 45) == [(40, 45)]
    assert [*frontiers.made(2, 4)] == [(False, 2, 4)]


def test_a_prompt_that_was_sent_before_the_answer_was_made_is_still_to_compute_it():
    frontiers, blocks = Frontiers(10), BlockRuns([range(3)])
    frontiers.sent(blocks, 0)
    frontiers.answered([range(1, 5)])

    assert [*frontiers.made(0, 5)] == [(False, 0, 3), (True, 3, 5)]
    assert frontiers.advance(blocks, 0, 30) == [(0, 30)]


spans = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 20)), max_size=20)


@given(spans, st.integers(1, 3), st.integers(0, 6))
def test_every_token_is_fresh_at_most_once_whoever_computes_it(chunks, size, shared):
    """Two prompts share their first blocks; the frontier of each block is kept beside."""
    n_blocks = 20 // size
    shared = min(shared, n_blocks)
    prompts = [range(n_blocks), [*range(shared), *range(40, 40 + n_blocks - shared)]]
    frontiers = Frontiers(size)
    frontier = {block: place * size for prompt in prompts for place, block in enumerate(prompt)}
    for prompt, seen in zip(prompts, (0, shared * size), strict=True):
        frontiers.sent(BlockRuns.of(prompt), seen)

    for who, start, end in chunks:
        if start >= end:
            continue
        prompt = prompts[who]
        expected = set()
        for place, block in enumerate(prompt):
            first, last = max(frontier[block], start), min((place + 1) * size, end)
            if start < (place + 1) * size and place * size < end and frontier[block] < last:
                expected.update(range(first, last))
                frontier[block] = last
        found = frontiers.advance(BlockRuns.of(prompt), start, end)
        assert {token for first, last in found for token in range(first, last)} == expected
        assert sum(last - first for first, last in found) == len(expected)
        done = [frontier[block] == (place + 1) * size for place, block in enumerate(prompt)]
        assert frontiers.done_until(BlockRuns.of(prompt), 0) == [*done, False].index(False)
