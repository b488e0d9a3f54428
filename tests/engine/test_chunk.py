"""Where a chunk of a hybrid model's prefill ends; blocks of 800, at most 8,192 tokens a step."""

import pytest

from sim.engine.active import ActiveRequest
from sim.engine.chunk import chunk_tokens
from sim.engine.rules.chunk_stops import ChunkStops, ReplayStops

AT_THE_END = ChunkStops(800, False)
"""vLLM 0.28.0."""
FOR_REPLAYS = ReplayStops(800, False, False)
"""vLLM 0.33.0."""


def chunk(prompt: int, start: int, tokens: int, stops: ChunkStops, *, outputs: int = 0) -> int:
    request = ActiveRequest(0, prompt, outputs + 1, [])
    request.outputs = outputs
    return chunk_tokens(request, start, tokens, stops, 8192)


@pytest.mark.parametrize("stops", [AT_THE_END, FOR_REPLAYS], ids=["0.28", "0.33"])
@pytest.mark.parametrize(
    ("prompt", "start", "tokens", "found"),
    [
        (4100, 100, 2000, 700),  # in mid-block: to the next boundary, where a state can be kept
        (4100, 800, 2000, 1600),  # to the last boundary within what is on offer
        (4100, 1500, 60, 0),  # the next boundary is out of reach: nothing
        (4100, 0, 4100, 4000),  # to the prompt's last boundary, and the rest by itself
        (4100, 4000, 100, 100),
    ],
)
def test_a_chunk_ends_where_a_checkpoint_can_be(
    prompt: int, start: int, tokens: int, found: int, stops: ChunkStops
) -> None:
    assert chunk(prompt, start, tokens, stops) == found


def test_a_prompt_of_whole_blocks_leaves_its_last_block_to_a_chunk_of_its_own_since_0_33() -> None:
    assert chunk(6400, 0, 6400, AT_THE_END) == 6400
    assert chunk(6400, 0, 6400, FOR_REPLAYS) == 5600
    assert chunk(6400, 5600, 800, FOR_REPLAYS) == 800


def test_where_hits_lose_their_last_block_both_stop_a_block_before() -> None:
    assert chunk(6400, 0, 6400, ChunkStops(800, True)) == 5600
    assert chunk(6400, 0, 6400, ReplayStops(800, True, False)) == 5600


class TestStatesSavedInsideAChunk:
    """FlashInfer's kernel; blocks of 832."""

    INSIDE = ReplayStops(832, False, True)

    def test_a_prompt_of_20_000_is_three_chunks_and_the_last_one_is_not_split(self) -> None:
        chunks, start = [], 0
        while start < 20_000:
            chunks.append(chunk(20_000, start, min(8192, 20_000 - start), self.INSIDE))
            start += chunks[-1]
        assert chunks == [7488, 7488, 5024]

    def test_a_prompt_of_whole_blocks_is_one_chunk(self) -> None:
        assert chunk(6656, 0, 6656, self.INSIDE) == 6656

    def test_a_chunk_that_begins_inside_a_block_saves_nothing_and_stops(self) -> None:
        assert chunk(6656, 100, 6556, self.INSIDE) == 732

    def test_a_state_is_saved_a_block_behind_the_one_that_it_begins_from_or_further(self) -> None:
        # From 832 on to 1,700 that is 1,664; to 1,664 it would be the start itself.
        assert chunk(1700, 832, 868, self.INSIDE) == 868
        assert chunk(1664, 832, 832, self.INSIDE) == 832

    def test_a_chunk_that_does_not_end_the_prefill_ends_on_a_boundary(self) -> None:
        assert chunk(20_000, 0, 8192, self.INSIDE) == 7488

    def test_of_a_resumed_prefill_the_last_known_token_is_no_part(self) -> None:
        # 1,664 + 2 known tokens: the prefill ends at 1,665, and its last boundary is 1,664.
        assert chunk(1664, 0, 1666, self.INSIDE, outputs=2) == 1666
