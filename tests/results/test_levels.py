from hypothesis import given
from hypothesis import strategies as st

from sim.results.levels import Levels


def rows_with_highest(changes, interval_s, workers=1, first_rows=0):
    """Rows of one level: time, worker, the level, its highest since the row before."""
    levels = Levels(workers, interval_s, first_rows)
    rows = [row for now_s, worker, level in changes for row in levels.set(worker, now_s, (level,))]
    return sorted(rows + levels.rest())


def rows_of(changes, interval_s, workers=1, first_rows=0):
    return [row[:-1] for row in rows_with_highest(changes, interval_s, workers, first_rows)]


def test_every_change_is_a_row_and_what_stands_still_is_not():
    changes = [(0, 0, 1), (1, 0, 1), (2, 0, 3), (3, 0, 3), (5, 0, 1)]
    assert rows_of(changes, 0) == [(0, 0, 1), (2, 0, 3), (5, 0, 1)]


def test_of_changes_at_one_instant_the_last_counts():
    assert rows_of([(1, 0, 1), (1, 0, 2), (1, 0, 3), (2, 0, 1)], 0) == [(1, 0, 3), (2, 0, 1)]


def test_of_changes_in_one_interval_the_last_counts():
    changes = [(0.1, 0, 1), (0.9, 0, 2), (1.0, 0, 3), (1.5, 0, 4), (3.2, 0, 5)]
    assert rows_of(changes, 1) == [(0.9, 0, 2), (1.5, 0, 4), (3.2, 0, 5)]


def test_what_is_left_out_shows_in_the_highest_level_of_the_next_row():
    changes = [(0.1, 0, 9), (0.9, 0, 2), (1.0, 0, 3), (1.5, 0, 4), (1.6, 0, 1), (3.2, 0, 5)]
    assert rows_with_highest(changes, 1) == [(0.9, 0, 2, 9), (1.6, 0, 1, 4), (3.2, 0, 5, 5)]


def test_what_lasted_no_time_was_never_the_highest():
    assert rows_with_highest([(0.1, 0, 9), (0.1, 0, 1), (0.5, 0, 2)], 1) == [(0.5, 0, 2, 2)]


def test_of_a_short_run_every_change_is_kept():
    changes = [(0.1, 0, 1), (0.2, 0, 2), (0.3, 0, 0)]
    assert rows_with_highest(changes, 1, first_rows=2) == [(0.1, 0, 1, 1), (0.2, 0, 2, 2), (0.3, 0, 0, 0)]
    assert rows_with_highest(changes, 1, first_rows=1) == [(0.3, 0, 0, 2)]


def test_a_level_that_is_not_there_has_no_highest():
    levels = Levels(1, 1.0, 0)
    assert levels.set(0, 0.1, (1, 0, 5, None)) == []
    assert levels.set(0, 0.2, (0, 2, 1, None)) == []
    assert levels.rest() == [(0.2, 0, 0, 2, 1, None, 1, 2, 5, None)]


def test_workers_do_not_mind_each_other():
    changes = [(0, 0, 1), (0.2, 1, 7), (0.4, 0, 2), (5, 1, 8)]
    assert rows_of(changes, 1, workers=2) == [(0.2, 1, 7), (0.4, 0, 2), (5, 1, 8)]
    assert rows_of(changes, 1, workers=2, first_rows=9) == [(0, 0, 1), (0.2, 1, 7), (0.4, 0, 2), (5, 1, 8)]


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


@given(levels_over_time, st.sampled_from([0.5, 3.0]), st.integers(0, 5))
def test_no_change_that_lasted_is_lost_from_the_highest_levels(changes, interval_s, first_rows):
    changes = [(t, 0, v) for t, v in changes]
    every = rows_of(changes, 0)
    thinned = rows_with_highest(changes, interval_s, first_rows=first_rows)
    if len(every) <= first_rows + 1:
        assert [row[:-1] for row in thinned] == every
    start_s = -1.0
    for now_s, _, _, highest in thinned:
        assert highest == max(level for time_s, _, level in every if start_s < time_s <= now_s)
        start_s = now_s
