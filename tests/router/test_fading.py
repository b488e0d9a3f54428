"""Blocks whose weight fades as the answer nears its expected end."""

from itertools import takewhile
from math import floor

import pytest
from hypothesis import given

from sim.kv.runs import BlockRuns
from sim.router import Router, RouterConfig
from sim.router.load import Booking, Loads
from tests.router.helpers import BLOCK, book_on, load, query
from tests.router.test_load import booking, shared_depth, steps


def test_a_fraction_fades_own_blocks_and_the_suffix_that_nobody_shares() -> None:
    loads = Loads(1, fades=True)
    first, second = booking(blocks=(1, 2, 3, 4)), booking(blocks=(1, 2))
    loads.book(first)
    loads.book(second)
    loads.add_output_block(first, None)
    assert loads.active_blocks == [5]
    # 1 and 2 are shared; 3, 4 and two generated blocks fade: 2 + 4 / 4.
    loads.add_output_block(first, 0.25)
    assert loads.active_blocks == [3]
    # The second stays shared with nobody beyond 2, so its end changes nothing; then all of the first's fade.
    loads.free(second, 0.0)
    assert loads.active_blocks == [3]
    loads.add_output_block(first, 0.0)
    assert loads.active_blocks == [0]


def test_a_weight_stays_on_the_block_when_another_request_shares_it() -> None:
    loads = Loads(1, fades=True)
    first, second = booking(blocks=(1, 2)), booking(blocks=(1, 2, 3))
    loads.book(first)
    loads.add_output_block(first, 0.5)
    loads.book(second)
    # 1 and 2 at a half, 3 in full, and the generated block at a half: 2.5, rounded up.
    assert loads.active_blocks == [3]
    loads.free(first, 0.0)
    assert loads.active_blocks == [2]


def test_a_weight_goes_with_the_block_s_last_request() -> None:
    loads = Loads(1, fades=True)
    loads.book(booking(own=1))
    faded, fresh = booking(blocks=(1, 2)), booking(blocks=(1, 2))
    loads.book(faded)
    loads.add_output_block(faded, 0.0)
    assert loads.active_blocks == [1]
    loads.free(faded, 0.0)
    assert loads.active_blocks == [1]
    loads.book(fresh)
    assert loads.active_blocks == [3]
    loads.free(fresh, 0.0)
    assert loads.active_blocks == [1]


def test_all_own_blocks_have_the_last_fraction() -> None:
    loads = Loads(1, fades=True)
    growing = booking(own=1)
    loads.book(growing)
    for _ in range(3):
        loads.add_output_block(growing, 0.5)
    assert loads.active_blocks == [2]


def test_rounding_errors_do_not_outlive_the_requests() -> None:
    loads = Loads(1, fades=True)
    faded, half = booking(blocks=(1,), own=2), booking()
    loads.book(faded)
    for fraction in (0.7, 0.9, 0.3):
        loads.add_output_block(faded, fraction)
    loads.free(faded, 0.0)
    loads.book(half)
    loads.add_output_block(half, 0.5)
    assert loads.active_blocks == [1]


@pytest.mark.parametrize(("blocks", "fraction", "active"), [(4, 0.1, 0), (13, 0.7, 10), (9, 0.55, 6)])
def test_sums_round_as_dynamo_s_do(blocks: int, fraction: float, active: int) -> None:
    """Weights of prompts and of generated blocks are two sums: 4 blocks at 0.1 and 1 at 0.1 are below 0.5."""
    loads = Loads(1, fades=True)
    request = booking(blocks=range(blocks))
    loads.book(request)
    loads.add_output_block(request, fraction)
    assert loads.active_blocks == [active]


def test_a_request_that_fades_through_the_router() -> None:
    """As Dynamo 1.5.0: 48 prompt tokens, 80 expected; at the 65th 7 blocks count for 3/16 each."""
    router = Router(RouterConfig(track_output_blocks=True), BLOCK, 1)
    request = book_on(router, 0, query(range(3), tail_tokens=0, expected_osl=80))
    for tokens in range(1, 66):
        router.output_tokens(request, tokens, 0.0)
    assert load(router)[1] == [1]


def test_an_edge_that_was_split_stays_split() -> None:
    """Weights are added by edge: twice 2 blocks at 0.1 are a bit more than 4, and 1 more makes 0.5."""
    loads = Loads(1, fades=True)
    request, passing = booking(blocks=(1, 2, 3, 4)), booking(blocks=(1, 2))
    loads.book(request)
    loads.book(passing)
    loads.free(passing, 0.0)
    loads.add_output_block(request, 0.1)
    assert loads.active_blocks == [1]


def test_a_fraction_where_nothing_fades_is_refused() -> None:
    loads = Loads(1)
    request = booking(blocks=(1,))
    loads.book(request)
    with pytest.raises(ValueError, match=r"fraction 0\.5 for request 0"):
        loads.add_output_block(request, 0.5)


class ByBlock:
    """The blocks of one rank, each by itself: how many requests have it and what it counts for."""

    def __init__(self) -> None:
        self.references: dict[int, int] = {}
        self.weights: dict[int, float] = {}
        self.own: dict[Booking, list[float]] = {}

    def book(self, booking: Booking) -> None:
        self.own[booking] = [1.0] * booking.own_blocks
        for block in booking.blocks:
            self.references[block] = self.references.get(block, 0) + 1
            self.weights.setdefault(block, 1.0)

    def grow(self, booking: Booking, fraction: float | None) -> None:
        own = self.own[booking]
        own.append(1.0)
        if fraction is None:
            return
        own[:] = [fraction] * len(own)
        for block in reversed(booking.blocks):
            if self.references[block] > 1:
                break
            self.weights[block] = fraction

    def free(self, booking: Booking) -> None:
        del self.own[booking]
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
    loads, by_block = Loads(2, fades=True), [ByBlock(), ByBlock()]
    opened: list[Booking] = []
    for step, number, drawn in history:
        fraction = None if drawn is None else round(drawn * 16) / 16  # sums of these are exact
        if step == "book":
            own = number % 3 * (drawn is None)
            prompt = () if own else PROMPTS[number % 9]
            opened.append(booking(number % 2, prompt, own=own, prefill=number))
            loads.book(opened[-1])
            by_block[number % 2].book(opened[-1])
        elif opened:
            chosen = opened[number % len(opened)]
            if step == "end_prefill":
                loads.end_prefill(chosen, 0.0)
            elif step == "output":
                loads.add_output_block(chosen, fraction)
                by_block[chosen.rank].grow(chosen, fraction)
            else:
                loads.free(opened.pop(number % len(opened)), 0.0)
                by_block[chosen.rank].free(chosen)
        for rank, blocks in enumerate(by_block):
            here = [b for b in opened if b.rank == rank]
            weight = sum(blocks.weights.values()) + sum(sum(own) for own in blocks.own.values())
            assert loads.active_blocks[rank] == floor(weight + 0.5)
            assert loads.requests[rank] == len(here)
            assert loads.prefill_tokens[rank] == sum(b.prefill_tokens for b in here)
        for prompt in PROMPTS:
            depths = [sum(1 for _ in takewhile(b.references.__contains__, prompt)) for b in by_block]
            assert shared_depth(loads, prompt, 0b11) == depths
