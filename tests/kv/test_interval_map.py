from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.kv.interval_map import PAGE_BITS, IntervalMap

PAGE = 1 << PAGE_BITS
EDGES = st.one_of(st.integers(0, 40), st.integers(PAGE - 20, PAGE + 20), st.integers(0, 3 * PAGE))
RANGES = st.tuples(EDGES, EDGES).map(sorted)


@given(st.lists(st.tuples(RANGES, st.integers(-2, 2)), max_size=30), RANGES)
def test_is_a_map_of_every_single_number(changes: list[tuple[list[int], int]], asked: list[int]) -> None:
    spans, by_number = IntervalMap(0), dict.fromkeys(range(3 * PAGE + 1), 0)
    for (start, stop), amount in changes:
        spans.update(start, stop, lambda value, amount=amount: value + amount)
        for number in range(start, stop):
            by_number[number] += amount
    assert {number: spans.get(number) for number in by_number} == by_number
    segments = spans.segments(*asked)
    assert [value for start, stop, value in segments for _ in range(start, stop)] == [
        by_number[number] for number in range(*asked)
    ]
    assert all(left[1] == right[0] and left[2] != right[2] for left, right in pairwise(segments))
    assert bool(spans) == any(by_number.values())
    changed = {number: value for start, stop, value in spans.changed() for number in range(start, stop)}
    assert changed == {number: value for number, value in by_number.items() if value}


def test_pieces_join_when_their_values_become_equal() -> None:
    spans = IntervalMap(0)
    spans.update(10, 30, lambda value: value | 1)
    spans.update(20, 40, lambda value: value | 2)
    assert spans.segments(0, 50) == [(0, 10, 0), (10, 20, 1), (20, 30, 3), (30, 40, 2), (40, 50, 0)]
    spans.update(20, 30, lambda value: 1)
    assert spans.segments(0, 40) == [(0, 10, 0), (10, 30, 1), (30, 40, 2)]
    spans.update(30, 40, lambda value: 1)
    assert spans.segments(0, 50) == [(0, 10, 0), (10, 40, 1), (40, 50, 0)]


def test_an_empty_map_keeps_nothing() -> None:
    spans = IntervalMap(0)
    spans.update(5, 3 * PAGE, lambda value: 7)
    assert spans
    spans.update(0, 4 * PAGE, lambda value: 0)
    assert not spans
    assert spans.segments(0, 10 * PAGE) == [(0, 10 * PAGE, 0)]
    assert spans.segments(5, 5) == []


def test_the_change_is_called_once_a_piece() -> None:
    spans, calls = IntervalMap(0), []
    spans.update(100, 200, lambda value: 1)
    spans.update(50, 300, lambda value: calls.append(value) or value + 1)
    assert calls == [0, 1, 0]
