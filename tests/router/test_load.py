from collections.abc import Sequence
from itertools import takewhile
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router.load import Booking, Loads

Numbers = tuple[list[int], list[int], list[int]]


def booking(
    rank: int = 0, blocks: Sequence[int] = (), own: int = 0, prefill: int = 0, booked_s: float = 0.0
) -> Booking:
    return Booking(
        request=0,
        rank=rank,
        booked_s=booked_s,
        isl_tokens=0,
        expected_osl=None,
        credit_tokens=0,
        prefill_tokens=prefill,
        blocks=blocks,
        own_blocks=own,
        own_weight=float(own),
        total_blocks=0,
    )


def numbers(loads: Loads) -> Numbers:
    return loads.prefill_tokens, loads.active_blocks, loads.requests


def shared_depth(loads: Loads, blocks: Sequence[int], among: int) -> list[int]:
    return loads.shared_depth(BlockRuns.of(blocks), among).tolist()


def test_shared_blocks_count_once_until_their_last_request_ends() -> None:
    loads = Loads(2)
    first, second = booking(blocks=(1, 2, 3), prefill=30), booking(blocks=(1, 2, 4, 5), prefill=7)
    loads.book(first)
    loads.book(second)
    assert numbers(loads) == ([37, 0], [5, 0], [2, 0])
    loads.end_prefill(first)
    assert numbers(loads) == ([7, 0], [5, 0], [2, 0])
    loads.free(first)
    assert numbers(loads) == ([7, 0], [4, 0], [1, 0])
    assert shared_depth(loads, [1, 2, 3], 0b11) == [2, 0]
    loads.free(second)
    assert numbers(loads) == ([0, 0], [0, 0], [0, 0])
    assert shared_depth(loads, [1, 2, 4], 0b11) == [0, 0]


def test_shared_depth_is_of_each_rank_s_own_requests() -> None:
    loads = Loads(3)
    loads.book(booking(rank=0, blocks=(1, 2, 3)))
    loads.book(booking(rank=2, blocks=(1, 2)))
    assert shared_depth(loads, [1, 2, 3, 4], 0b111) == [3, 0, 2]


def test_own_blocks_are_never_shared() -> None:
    loads = Loads(1)
    loads.book(booking(own=4))
    loads.book(booking(own=4))
    assert loads.active_blocks == [8]


def test_a_fraction_fades_own_blocks_and_the_suffix_that_nobody_shares() -> None:
    loads = Loads(1)
    first, second = booking(blocks=(1, 2, 3, 4)), booking(blocks=(1, 2))
    loads.book(first)
    loads.book(second)
    loads.add_output_block(first, None)
    assert loads.active_blocks == [5]
    # 1 and 2 are shared; 3, 4 and two generated blocks fade: 2 + 4 / 4.
    loads.add_output_block(first, 0.25)
    assert loads.active_blocks == [3]
    # The second stays shared with nobody beyond 2, so its end changes nothing; then all of the first's fade.
    loads.free(second)
    assert loads.active_blocks == [3]
    loads.add_output_block(first, 0.0)
    assert loads.active_blocks == [0]


def test_a_weight_stays_on_the_block_when_another_request_shares_it() -> None:
    loads = Loads(1)
    first, second = booking(blocks=(1, 2)), booking(blocks=(1, 2, 3))
    loads.book(first)
    loads.add_output_block(first, 0.5)
    loads.book(second)
    # 1 and 2 at a half, 3 in full, and the generated block at a half: 2.5, rounded up.
    assert loads.active_blocks == [3]
    loads.free(first)
    assert loads.active_blocks == [2]


def test_a_weight_goes_with_the_block_s_last_request() -> None:
    loads = Loads(1)
    loads.book(booking(own=1))
    faded, fresh = booking(blocks=(1, 2)), booking(blocks=(1, 2))
    loads.book(faded)
    loads.add_output_block(faded, 0.0)
    assert loads.active_blocks == [1]
    loads.free(faded)
    assert loads.active_blocks == [1]
    loads.book(fresh)
    assert loads.active_blocks == [3]
    loads.free(fresh)
    assert loads.active_blocks == [1]


def test_the_weights_of_blocks_are_added_one_by_one() -> None:
    loads = Loads(1)
    long = booking(blocks=range(9))
    loads.book(long)
    loads.add_output_block(long, 0.55)
    # Ten blocks at 0.55, in floating point 5.499999999999999; at once they would be 5.5, which is 6.
    assert loads.active_blocks == [5]


def test_all_own_blocks_have_the_last_fraction() -> None:
    loads = Loads(1)
    growing = booking(own=1)
    loads.book(growing)
    for _ in range(3):
        loads.add_output_block(growing, 0.5)
    assert loads.active_blocks == [2]


def test_rounding_errors_do_not_outlive_the_requests() -> None:
    loads = Loads(1)
    faded, half = booking(blocks=(1,), own=2), booking()
    loads.book(faded)
    for fraction in (0.7, 0.9, 0.3):
        loads.add_output_block(faded, fraction)
    loads.free(faded)
    loads.book(half)
    loads.add_output_block(half, 0.5)
    assert loads.active_blocks == [1]


def test_what_was_freed_has_no_further_effect() -> None:
    loads = Loads(1)
    gone, there = booking(blocks=(1, 2), prefill=10), booking(blocks=(1,), prefill=5)
    loads.book(gone)
    loads.book(there)
    loads.free(gone)
    for _ in range(2):
        loads.end_prefill(gone)
        loads.add_output_block(gone, 0.5)
        loads.free(gone)
    assert numbers(loads) == ([5], [1], [1])


def test_only_bookings_older_than_the_limit_expire() -> None:
    loads = Loads(1)
    for booked_s in (0.0, 10.0, 20.0):
        loads.book(booking(own=1, prefill=1, booked_s=booked_s))
    loads.expire(before_s=10.0)
    assert numbers(loads) == ([2], [2], [2])


steps = st.lists(
    st.tuples(
        st.sampled_from(["book", "end_prefill", "output", "free"]),
        st.integers(0, 9),
        st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=60,
)


@given(steps)
def test_after_the_last_request_the_load_is_zero(history: list[tuple[str, int, float | None]]) -> None:
    """Whatever happens in between; and along the way no load is negative and requests are those open."""
    loads, opened = Loads(3), list[Booking]()
    for step, number, fraction in history:
        if step == "book":
            prompt = tuple(range(number % 4 * 100, number % 4 * 100 + number))
            opened.append(booking(number % 3, prompt, own=number % 2, prefill=number))
            loads.book(opened[-1])
        elif opened:
            chosen = opened[number % len(opened)]
            if step == "end_prefill":
                loads.end_prefill(chosen)
            elif step == "output":
                loads.add_output_block(chosen, fraction)
            else:
                loads.free(opened.pop(number % len(opened)))
        assert sum(loads.requests) == len(opened)
        assert min(loads.prefill_tokens) >= 0
        assert min(loads.active_blocks) >= 0
    for left in opened:
        loads.free(left)
    assert numbers(loads) == ([0] * 3, [0] * 3, [0] * 3)
    assert all(shared_depth(loads, list(range(n * 100, n * 100 + 9)), 0b111) == [0] * 3 for n in range(4))


class ByBlock:
    """The blocks of one rank, each by itself: how many requests have it and what it counts for."""

    def __init__(self) -> None:
        self.references: dict[int, int] = {}
        self.weights: dict[int, float] = {}

    def book(self, booking: Booking) -> None:
        for block in booking.blocks:
            self.references[block] = self.references.get(block, 0) + 1
            self.weights.setdefault(block, 1.0)

    def fade(self, booking: Booking, fraction: float) -> None:
        for block in reversed(booking.blocks):
            if self.references[block] > 1:
                break
            self.weights[block] = fraction

    def free(self, booking: Booking) -> None:
        for block in booking.blocks:
            self.references[block] -= 1
            if not self.references[block]:
                del self.references[block], self.weights[block]


PROMPTS = [
    BlockRuns([range(10), *turns][:n])
    for turns in ([range(20, 23), range(40, 47)], [range(23, 31), range(60, 61)], [range(50, 52)])
    for n in (1, 2, 3)
]
"""Conversations that share their first ten blocks."""


@given(steps)
def test_the_load_is_that_of_every_single_block(history: list[tuple[str, int, float | None]]) -> None:
    loads, by_block = Loads(2), [ByBlock(), ByBlock()]
    opened: list[Booking] = []
    for step, number, drawn in history:
        fraction = None if drawn is None else round(drawn * 16) / 16  # sums of these are exact
        if step == "book":
            opened.append(booking(number % 2, PROMPTS[number % 9], own=number % 3, prefill=number))
            loads.book(opened[-1])
            by_block[number % 2].book(opened[-1])
        elif opened:
            chosen = opened[number % len(opened)]
            if step == "end_prefill":
                loads.end_prefill(chosen)
            elif step == "output":
                loads.add_output_block(chosen, fraction)
                if fraction is not None:
                    by_block[chosen.rank].fade(chosen, fraction)
            else:
                loads.free(opened.pop(number % len(opened)))
                by_block[chosen.rank].free(chosen)
        for rank, blocks in enumerate(by_block):
            here = [b for b in opened if b.rank == rank]
            weight = sum(blocks.weights.values()) + sum(b.own_weight for b in here)
            assert loads.active_blocks[rank] == floor(weight + 0.5)
            assert loads.requests[rank] == len(here)
            assert loads.prefill_tokens[rank] == sum(b.prefill_tokens for b in here)
        for prompt in PROMPTS:
            depths = [sum(1 for _ in takewhile(b.references.__contains__, prompt)) for b in by_block]
            assert shared_depth(loads, prompt, 0b11) == depths
