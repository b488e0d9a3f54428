"""What an endless cache would hit, beside what real ones did."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.results.prefill import prefill
from sim.results.request_columns import RequestColumns
from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn
from tests.results.test_metrics import completed, requests

APART_S = 100.0
"""Longer than any request takes."""
PROMPTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 6), st.integers(1, 16)), min_size=1, max_size=8
)
"""A family of prompts that begin alike, chunks, and tokens of the last chunk."""


def served(prompts: list[tuple[int, int, int]], workers: int, state_groups: int = 0) -> RunResult:
    """Prompts one after another; those of a family are each a prefix of the longer ones."""
    turns = [
        turn(
            place * APART_S,
            16 * (n_chunks - 1) + last,
            2,
            [10 * family + chunk for chunk in range(n_chunks)],
        )
        for place, (family, n_chunks, last) in enumerate(prompts)
    ]
    return run(
        scenario(state_groups, workers={"count": workers}, router={"policy": "round-robin"}),
        trace=trace(*turns),
        step_time=Pace(),
    )


def shares(result: RunResult) -> tuple[float, float]:
    achieved, ideal = (result.numbers[f"prefill.{name}"] for name in ("hit_share", "ideal_hit_share"))
    assert achieved is not None
    assert ideal is not None
    return achieved, ideal


def test_the_block_of_the_last_token_is_never_hit() -> None:
    """The same 64 tokens again: three of four blocks, of 128 tokens in all."""
    achieved, ideal = shares(served([(0, 4, 16), (0, 4, 16)], workers=1))
    assert achieved == ideal == 48 / 128


def test_a_hit_ends_with_a_whole_block() -> None:
    """Chunks 1 and 2 again, the second of 5 tokens: one block of 21 + 21."""
    achieved, ideal = shares(served([(0, 2, 5), (0, 2, 5)], workers=1))
    assert achieved == ideal == 16 / 42


def test_what_an_earlier_answer_held_is_in_the_ideal() -> None:
    """Of 100 tokens 48 are in no earlier prompt, of these 32 in blocks of an earlier answer: 84 are held."""
    row = completed(required_block_tokens=48, returned_block_tokens=32)
    assert prefill(RequestColumns(requests(row)), 16)["ideal_hit_share"] == 0.84


def test_a_prompt_that_came_to_no_first_token_has_no_part_in_either_share() -> None:
    stuck = completed(status="unfinished", first_token_s=None, required_block_tokens=100)
    found = prefill(RequestColumns(requests(completed(required_block_tokens=52), stuck)), 16)
    assert (found["hit_share"], found["ideal_hit_share"]) == (0.7, 0.48)


@settings(max_examples=25)
@given(prompts=PROMPTS)
def test_one_worker_with_room_for_all_hits_what_an_ideal_cache_would(
    prompts: list[tuple[int, int, int]],
) -> None:
    achieved, ideal = shares(served(prompts, workers=1))
    assert achieved == ideal


@settings(max_examples=25)
@given(prompts=PROMPTS, workers=st.integers(2, 3), state_groups=st.sampled_from([0, 2]))
def test_no_more_is_hit_than_an_ideal_cache_would(
    prompts: list[tuple[int, int, int]], workers: int, state_groups: int
) -> None:
    achieved, ideal = shares(served(prompts, workers, state_groups))
    assert achieved <= ideal
