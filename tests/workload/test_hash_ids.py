"""Hash ids as runs."""

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.hash_ids import HashIds, from_runs

LAST = 2**64 - 1
RUNS = st.lists(st.tuples(st.integers(0, LAST - 40), st.integers(1, 40)), max_size=4)
LISTS = st.lists(
    RUNS.map(from_runs) | st.lists(st.integers(0, LAST), max_size=20).map(lambda x: array("Q", x))
)


@given(LISTS, st.data())
def test_what_is_kept_comes_back_cut_and_with_ends(lists: list["array[int]"], data: st.DataObject) -> None:
    kept = HashIds()
    for ids in lists:
        kept.append(ids)
    assert [kept.get(number) for number in range(len(lists))] == lists
    assert [*kept.counts] == [*map(len, lists)]
    assert all(first == ids[0] for first, ids in zip(kept.firsts().tolist(), lists, strict=True) if ids)
    cuts = [data.draw(st.integers(0, len(ids))) for ids in lists]
    for number, cut in enumerate(cuts):
        kept.cut(number, cut)
    ends = [number for number in range(len(lists)) if data.draw(st.booleans())]
    kept.give_ends(np.array(ends, np.intp))
    own = [kept.get(number)[-1] for number in ends]
    assert len({*own}) == len(ends)
    assert {*own}.isdisjoint(each for ids in lists for each in ids)
    for number, (ids, cut) in enumerate(zip(lists, cuts, strict=True)):
        assert kept.get(number)[:cut] == ids[:cut]
        assert len(kept.get(number)) == cut + (number in ends)


def test_successive_ids_take_the_room_of_one() -> None:
    kept = HashIds()
    for _ in range(100):
        kept.append(array("Q", range(1_000)))
    assert len(kept._words) == 200
    kept.append(array("Q", range(0, 100, 2)))
    assert len(kept._words) == 250


def test_runs_do_not_go_on_behind_the_last_number() -> None:
    kept = HashIds()
    ids = array("Q", [*range(LAST - 20, LAST + 1), *range(20)])
    kept.append(ids)
    assert kept.get(0) == ids
    kept.give_ends(np.array([0], np.intp))
    assert kept.get(0)[-1] == 20


@pytest.mark.parametrize("runs", [[], [(7, 1)], [(7, 3), (1, 2)]])
def test_runs_as_ids(runs: list[tuple[int, int]]) -> None:
    assert list(from_runs(runs)) == [each for first, n in runs for each in range(first, first + n)]
