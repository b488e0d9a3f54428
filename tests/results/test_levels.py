from hypothesis import given
from hypothesis import strategies as st

from sim.results.levels import Levels


def rows_of(changes, interval_s, workers=1):
    levels = Levels(workers, interval_s)
    rows = [levels.set(worker, now_s, (level,)) for now_s, worker, level in changes]
    return [row for row in rows if row is not None] + levels.rest()


def test_every_change_is_a_row_and_what_stands_still_is_not():
    changes = [(0, 0, 1), (1, 0, 1), (2, 0, 3), (3, 0, 3), (5, 0, 1)]
    assert rows_of(changes, 0) == [(0, 0, 1), (2, 0, 3), (5, 0, 1)]


def test_of_changes_at_one_instant_the_last_counts():
    assert rows_of([(1, 0, 1), (1, 0, 2), (1, 0, 3), (2, 0, 1)], 0) == [(1, 0, 3), (2, 0, 1)]


def test_of_changes_in_one_interval_the_last_counts():
    changes = [(0.1, 0, 1), (0.9, 0, 2), (1.0, 0, 3), (1.5, 0, 4), (3.2, 0, 5)]
    assert rows_of(changes, 1) == [(0.9, 0, 2), (1.5, 0, 4), (3.2, 0, 5)]


def test_workers_do_not_mind_each_other():
    changes = [(0, 0, 1), (0.2, 1, 7), (0.4, 0, 2), (5, 1, 8)]
    assert rows_of(changes, 1, workers=2) == [(0.2, 1, 7), (0.4, 0, 2), (5, 1, 8)]


def test_a_worker_without_a_change_has_no_row():
    assert Levels(3, 1.0).rest() == []


levels_over_time = st.lists(st.tuples(st.floats(0, 20), st.integers(0, 3)), max_size=30).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)


def level_at(rows, time_s):
    """What the rows say of a time: the level of the last row up to it."""
    past = [level for row_s, level in rows if row_s <= time_s]
    return past[-1] if past else None


@given(levels_over_time, st.sampled_from([0.0, 0.5, 3.0]))
def test_rows_say_how_things_stood_at_the_end_of_every_interval(changes, interval_s):
    rows = [(now_s, level) for now_s, _, level in rows_of([(t, 0, v) for t, v in changes], interval_s)]
    assert [now_s for now_s, _ in rows] == sorted({now_s for now_s, _ in rows})
    if not interval_s:
        for now_s, _ in changes:
            assert level_at(rows, now_s) == level_at(changes, now_s)
        return
    assert len({now_s // interval_s for now_s, _ in rows}) == len(rows), "one row an interval"
    for number in range(int(20 / interval_s) + 1):
        inside = [time_s for time_s, _ in changes if time_s // interval_s <= number]
        if inside:
            assert level_at(rows, max(inside)) == level_at(changes, max(inside))
