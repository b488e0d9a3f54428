from collections.abc import Sequence

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
    loads.end_prefill(first, 0.0)
    assert numbers(loads) == ([7, 0], [5, 0], [2, 0])
    loads.free(first, 0.0)
    assert numbers(loads) == ([7, 0], [4, 0], [1, 0])
    assert shared_depth(loads, [1, 2, 3], 0b11) == [2, 0]
    loads.free(second, 0.0)
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


def test_what_was_freed_has_no_further_effect() -> None:
    loads = Loads(1)
    gone, there = booking(blocks=(1, 2), prefill=10), booking(blocks=(1,), prefill=5)
    loads.book(gone)
    loads.book(there)
    loads.free(gone, 0.0)
    for _ in range(2):
        loads.end_prefill(gone, 0.0)
        loads.add_output_block(gone, None)
        loads.free(gone, 0.0)
    assert numbers(loads) == ([5], [1], [1])


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
    loads, opened = Loads(3, fades=True), list[Booking]()
    for step, number, fraction in history:
        if step == "book":
            own = 5 * (number % 2)
            prompt = () if own else range(number % 4 * 100, number % 4 * 100 + number)
            opened.append(booking(number % 3, prompt, own=own, prefill=number))
            loads.book(opened[-1])
        elif opened:
            chosen = opened[number % len(opened)]
            if step == "end_prefill":
                loads.end_prefill(chosen, 0.0)
            elif step == "output":
                loads.add_output_block(chosen, fraction)
            else:
                loads.free(opened.pop(number % len(opened)), 0.0)
        assert sum(loads.requests) == len(opened)
        assert min(loads.prefill_tokens) >= 0
        assert min(loads.active_blocks) >= 0
    for left in opened:
        loads.free(left, 0.0)
    assert numbers(loads) == ([0] * 3, [0] * 3, [0] * 3)
    assert all(shared_depth(loads, list(range(n * 100, n * 100 + 9)), 0b111) == [0] * 3 for n in range(4))
