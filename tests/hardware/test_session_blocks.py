"""Blocks of a sequence in groups of every kind, by vLLM 0.28.0's counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.hardware.session_blocks import longest_blocks, longest_tokens, session_of
from sim.kv.group_spec import GroupSpec

FULL, STATE = GroupSpec("full", 16), GroupSpec("recurrent", 16)
SLIDING, CHUNKED = GroupSpec("sliding_window", 16, 128), GroupSpec("chunked_local", 16, 8192)


@pytest.mark.parametrize(
    ("window", "in_flight", "blocks"),
    [
        (128, 128, 17),
        (128, 256, 25),
        (128, 8192, 521),
        (128, 16_384, 1033),
        (1024, 8192, 577),
        (1024, 16_384, 1089),
    ],
)
def test_a_sliding_window_is_counted_with_what_is_in_flight(window: int, in_flight: int, blocks: int) -> None:
    assert longest_blocks([GroupSpec("sliding_window", 16, window)], 10**6, in_flight) == blocks


@pytest.mark.parametrize(("in_flight", "blocks"), [(8192, 1024), (16_384, 1536)])
def test_a_chunk_is_counted_with_what_is_in_flight(in_flight: int, blocks: int) -> None:
    assert longest_blocks([CHUNKED], 10**6, in_flight) == blocks


def test_short_sequences_count_no_more_than_their_tokens_and_a_block() -> None:
    assert longest_blocks([SLIDING, FULL, STATE], 320, 8192) == 21 + 20 + 2


def test_a_windowed_session_by_hand() -> None:
    session = session_of([SLIDING, FULL], 8000, 1024)
    # 128 tokens, the newest included: 127 before it lie in 8 or 9 blocks of 16.
    assert session.grown == session.cold_decode_async == 9 + 500
    assert session.cold == 500 + 500
    assert session.cold_prefill_sync == 73 + 500  # 127 + 1,024 tokens
    assert session.cold_prefill_async == 137 + 500  # 127 + 2,048 tokens


@given(
    groups=st.lists(st.sampled_from([FULL, STATE, SLIDING, CHUNKED]), min_size=1, max_size=4),
    blocks=st.integers(0, 5000),
    most=st.integers(1, 100_000),
    in_flight=st.integers(1, 40_000),
)
def test_the_longest_sequence_fits_and_no_longer_one_does(
    groups: list[GroupSpec], blocks: int, most: int, in_flight: int
) -> None:
    longest = longest_tokens(groups, blocks, most, in_flight)
    assert 0 <= longest <= most
    if longest:
        assert longest_blocks(groups, longest, in_flight) <= blocks
    if longest < most:
        assert longest_blocks(groups, longest + 1, in_flight) > blocks


@given(tokens=st.integers(16, 300_000), budget=st.integers(16, 32_768))
def test_a_windowed_session_holds_no_more_than_all_its_blocks(tokens: int, budget: int) -> None:
    session = session_of([SLIDING, FULL], tokens, budget)
    assert session.grown <= session.cold_prefill_sync <= session.cold_prefill_async <= session.cold
