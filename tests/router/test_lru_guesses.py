"""What was sent to a rank, and what was generated there, is taken to be there until room is needed."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router import Booking, Router, RouterConfig
from sim.router.lru_guesses import LruGuesses
from tests.router.helpers import book_on, query
from tests.router.test_guesses import booking, held

LRU = RouterConfig(use_kv_events=False, approximate_cache_policy="lru")


def router_of(*blocks: int) -> Router:
    return Router(LRU, 16, len(blocks), total_kv_blocks=blocks)


def test_prompts_stay_while_there_is_room_and_never_grow_old() -> None:
    router = router_of(10, 10)
    router.free(book_on(router, 0, query([0, 1, 2], tail_tokens=0)), 1.0)
    assert held(router, [0, 1, 2], 1e6) == [3, 0]


def test_the_last_block_of_the_oldest_release_goes_first() -> None:
    router = router_of(6)
    router.free(book_on(router, 0, query([0, 1, 2], tail_tokens=0)), 1.0)
    router.free(book_on(router, 0, query([10, 11], tail_tokens=0)), 2.0)
    book_on(router, 0, query([20, 21], tail_tokens=0), 3.0)  # one too many
    assert (held(router, [0, 1, 2], 3.0), held(router, [10, 11], 3.0)) == ([2], [2])
    book_on(router, 0, query([30, 31, 32], tail_tokens=0), 4.0)
    assert (held(router, [0, 1, 2], 4.0), held(router, [10, 11], 4.0)) == ([0], [1])


def test_a_partial_last_block_takes_room_of_its_own_while_its_request_runs() -> None:
    router = router_of(4)
    router.free(book_on(router, 0, query([0, 1], tail_tokens=0)), 1.0)
    second = book_on(router, 0, query([10, 11], tail_tokens=3), 2.0)
    assert held(router, [0, 1], 2.0) == [1]
    router.free(second, 3.0)
    book_on(router, 0, query([20], tail_tokens=0), 4.0)
    assert held(router, [0, 1], 4.0) == [1]


def test_what_running_requests_hold_stays_even_if_that_is_too_much() -> None:
    router = router_of(3)
    first = book_on(router, 0, query([0, 1], tail_tokens=0))
    book_on(router, 0, query([10, 11, 12], tail_tokens=0))
    assert held(router, [0, 1], 0.0) == [2]
    router.free(first, 1.0)
    assert held(router, [0, 1], 1.0) == [0]


def test_a_block_that_another_request_holds_is_not_released_with_the_first() -> None:
    router = router_of(4)
    first = book_on(router, 0, query([0, 1, 2], tail_tokens=0))
    book_on(router, 0, query([0, 1], tail_tokens=0))
    router.free(first, 1.0)
    book_on(router, 0, query([20, 21], tail_tokens=0), 2.0)
    assert held(router, [0, 1, 2], 2.0) == [2]


def test_a_release_that_was_held_again_since_does_not_count() -> None:
    router = router_of(5)
    router.free(book_on(router, 0, query([0, 1], tail_tokens=0)), 1.0)
    router.free(book_on(router, 0, query([10, 11], tail_tokens=0)), 2.0)
    router.free(book_on(router, 0, query([0, 1], tail_tokens=0)), 3.0)
    book_on(router, 0, query([20, 21], tail_tokens=0), 4.0)
    assert (held(router, [0, 1], 4.0), held(router, [10, 11], 4.0)) == ([2], [1])


def test_full_blocks_of_the_answer_are_there_as_they_are_generated() -> None:
    router = router_of(10)
    assert router.follows_answers
    growing = book_on(router, 0, query([0], tail_tokens=15, sequence=[0, 1, 2]))
    assert held(router, [0, 1, 2], 0.0) == [1]
    router.output_tokens(growing, 1, 0.5)
    assert held(router, [0, 1, 2], 0.5) == [2]
    router.output_tokens(growing, 17, 0.6)
    router.free(growing, 1.0)
    assert held(router, [0, 1, 2], 1.0) == [3]


def test_an_answer_without_identities_takes_room_all_the_same() -> None:
    router = router_of(4)
    router.free(book_on(router, 0, query([0, 1], tail_tokens=0)), 1.0)
    growing = book_on(router, 0, query([10], tail_tokens=15), 2.0)
    router.output_tokens(growing, 17, 3.0)  # blocks 10, two that are full, none begun
    assert held(router, [0, 1], 3.0) == [1]
    router.free(growing, 4.0)
    book_on(router, 0, query([20, 21], tail_tokens=0), 5.0)
    assert (held(router, [0, 1], 5.0), held(router, [10], 5.0)) == ([0], [1])


def test_a_rank_that_is_gone_holds_nothing_and_its_requests_end_without_a_trace() -> None:
    router = router_of(3, 3)
    lost = book_on(router, 0, query([0, 1]))
    book_on(router, 1, query([0, 1]))
    router.cleared(0)
    assert held(router, [0, 1], 0.0) == [0, 2]
    router.output_tokens(lost, 40, 1.0)
    router.free(lost, 1.0)
    book_on(router, 0, query([5, 6, 7], tail_tokens=0), 2.0)
    assert held(router, [5, 6, 7], 2.0) == [3, 0]


def test_without_known_sizes_blocks_expire() -> None:
    router = Router(LRU, 16, 1)
    assert not router.follows_answers
    book_on(router, 0, query([0, 1]))
    assert (held(router, [0, 1], 119.0), held(router, [0, 1], 120.0)) == ([2], [0])


class Naive:
    """One rank, block by block."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.holders: dict[int, int] = {}
        self.released: dict[int, tuple[int, int]] = {}
        """When a block was released, and at which place from the end of its prompt."""
        self.running: list[tuple[list[int], bool]] = []
        self.releases = 0

    def book(self, blocks: Sequence[int], tail: bool) -> None:
        self.running.append((list(blocks), tail))
        for block in blocks:
            self.holders[block] = self.holders.get(block, 0) + 1
            self.released.pop(block, None)
        self.make_room()

    def free(self, place: int) -> None:
        blocks, _ = self.running.pop(place)
        self.releases += 1
        for at, block in enumerate(blocks):
            self.holders[block] -= 1
            if not self.holders[block]:
                self.released[block] = (self.releases, -at)
        self.make_room()

    def make_room(self) -> None:
        while self.released and len(self.holders) + sum(tail for _, tail in self.running) > self.capacity:
            victim = min(self.released, key=self.released.__getitem__)
            del self.released[victim], self.holders[victim]

    def depth(self, blocks: Sequence[int]) -> int:
        return next((at for at, block in enumerate(blocks) if block not in self.holders), len(blocks))


PROMPTS = [[0, 1, 2, 3], [0, 1, 2, 9, 10], [0, 1], [20, 21, 22], [20, 40], [0, 30, 31, 32, 33, 34], [7]]
steps = st.tuples(st.booleans(), st.sampled_from(PROMPTS), st.booleans(), st.integers(0, 9))


@given(st.integers(1, 14), st.lists(steps, max_size=40))
def test_agrees_with_a_cache_kept_block_by_block(
    capacity: int, history: list[tuple[bool, list[int], bool, int]]
) -> None:
    ours, naive = LruGuesses([capacity], 16), Naive(capacity)
    bookings: list[Booking] = []
    for books, blocks, tail, place in history:
        if books or not bookings:
            bookings.append(booking(0, 16 * len(blocks) + tail))
            ours.book(bookings[-1], query(blocks, tail_tokens=int(tail)), 0.0)
            naive.book(blocks, tail)
        else:
            naive.free(place % len(bookings))
            ours.free(bookings.pop(place % len(bookings)))
        assert ours.resident(0) == len(naive.holders)
        for prompt in PROMPTS:
            assert list(ours.depths(BlockRuns.of(prompt), 1, 0.0)) == [naive.depth(prompt)]  # type: ignore[arg-type]
