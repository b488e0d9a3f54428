"""Where a chunk of a hybrid model's prefill ends; blocks of 800, at most 8,192 tokens a step."""

import pytest

from sim.engine.active import ActiveRequest
from sim.engine.chunk import chunk_tokens


@pytest.mark.parametrize(
    ("prompt", "start", "tokens", "found"),
    [
        (4000, 100, 2000, 700),  # in mid-block: to the next boundary, where a state can be kept
        (4000, 800, 2000, 1600),  # to the last boundary within what is on offer
        (4000, 1500, 60, 0),  # the next boundary is out of reach: nothing
        (4000, 0, 4000, 4000),  # all of it, as it ends on a boundary
        (4100, 0, 4100, 4000),  # to the prompt's last boundary, and the rest by itself
        (4100, 4000, 100, 100),
    ],
)
def test_a_chunk_ends_where_a_checkpoint_can_be(prompt: int, start: int, tokens: int, found: int) -> None:
    request = ActiveRequest(0, prompt, 1, [])
    assert chunk_tokens(request, start, tokens, 800, 8192) == found
