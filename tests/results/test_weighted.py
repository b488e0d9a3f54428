import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.results import weighted
from sim.results.weighted import WeightedSample

PERCENTS = [0, 50, 90, 95, 99, 99.9, 100]

gaps = st.floats(0, 1e3) | st.sampled_from([0.0, 0.0132, 0.0133])
entries = st.lists(st.tuples(st.lists(gaps, max_size=5), st.integers(0, 9)), max_size=20)


def written_out(entries):
    return np.array([value for values, count in entries for value in values for _ in range(count)])


def filled(entries, one_by_one=False):
    sample = WeightedSample()
    for values, count in entries:
        if one_by_one:
            for value in values:
                sample.add(value, count)
        else:
            sample.add_many(np.array(values), count)
    return sample


def test_a_small_sample_by_hand():
    sample = WeightedSample()
    sample.add(10.0, 3)
    sample.add_many(np.array([20.0, 40.0]), 1)

    assert sample.n == 5
    assert sample.mean == 18.0
    assert sample.max == 40.0
    # Written out: 10 10 10 20 40; p90 lies 0.6 of the way from the fourth to the fifth.
    assert sample.percentiles([50, 75, 90]) == [10.0, 20.0, 20.0 + 0.6 * 20.0]


def test_an_empty_sample_has_no_numbers():
    sample = WeightedSample()
    sample.add(1.0, 0)
    sample.add_many([], 5)

    assert (sample.n, sample.mean, sample.max) == (0, None, None)
    assert sample.percentiles([50, 99.9]) == [None, None]


def test_a_later_change_of_the_array_does_not_reach_the_sample():
    values = np.array([1.0])
    sample = WeightedSample()
    sample.add_many(values)
    values[0] = 5.0

    assert sample.max == 1.0


@given(entries, st.booleans())
def test_percentiles_are_numpys_of_the_sample_written_out(entries, one_by_one):
    expanded = written_out(entries)
    sample = filled(entries, one_by_one)

    assert sample.n == expanded.size
    if expanded.size:
        assert sample.percentiles(PERCENTS) == np.percentile(expanded, PERCENTS).tolist()
        assert sample.max == expanded.max()
        assert sample.mean == pytest.approx(expanded.mean(), rel=1e-12)


@given(entries, st.data())
def test_neither_order_nor_compaction_changes_a_bit(entries, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "_SMALLEST_COMPACTION", 2)
        often = filled(data.draw(st.permutations(entries)), one_by_one=True)
    seldom = filled(entries)

    assert (often.n, often.mean, often.max) == (seldom.n, seldom.mean, seldom.max)
    assert often.percentiles(PERCENTS) == seldom.percentiles(PERCENTS)


def test_reading_between_additions_is_allowed():
    sample = WeightedSample()
    sample.add(1.0)
    assert sample.percentiles([50]) == [1.0]
    sample.add(3.0)
    assert sample.percentiles([50]) == [2.0]


def test_equal_values_take_no_room():
    sample = WeightedSample()
    for _ in range(600):
        sample.add_many(np.full(1_000, 0.0132), 16)

    assert sample.n == 600 * 1_000 * 16
    assert sample._values.tolist() == [0.0132]
    assert sum(map(len, sample._new.values())) < 100_000


many = st.lists(st.tuples(st.lists(st.floats(1e-6, 1e6), max_size=9), st.integers(1, 9)), max_size=20)


@given(many, st.data())
def test_beyond_the_bound_all_is_off_by_less_than_a_millionth_in_any_order(entries, data):
    expanded = written_out(entries)
    shuffled = data.draw(st.permutations(entries))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "_MOST_EXACT_VALUES", 5)
        sample = filled(entries)
        rounded = [sample.n, sample.mean, sample.max, *sample.percentiles(PERCENTS)]
        patch.setattr(weighted, "_SMALLEST_COMPACTION", 2)
        often = filled(shuffled, one_by_one=True)
        assert [often.n, often.mean, often.max, *often.percentiles(PERCENTS)] == rounded

    if expanded.size:
        exact = [expanded.size, expanded.mean(), expanded.max(), *np.percentile(expanded, PERCENTS)]
        assert rounded == pytest.approx(exact, rel=5e-7)


def test_beyond_the_bound_neighbours_are_merged():
    values = 1.0 + np.arange(10_000) * 1e-9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "_MOST_EXACT_VALUES", 1_000)
        sample = WeightedSample()
        sample.add_many(values, 3)

        assert sample.n == 30_000
        assert sample.percentiles([0, 100]) == [1.0, pytest.approx(1.00001, abs=5e-7)]
        assert sample._values.size == 11  # steps of 2**-20 from 1 to 1 + 1e-5


def test_a_sample_goes_from_process_to_process():
    sample = WeightedSample()
    sample.add_many([2.0, 1.0], 3)
    sample.add(5.0)
    copied = pickle.loads(pickle.dumps(sample))
    copied.add(7.0)
    assert (copied.n, copied.max, copied.mean) == (8, 7.0, (3 * 3.0 + 5.0 + 7.0) / 8)


def test_a_small_form_merges_what_is_nearly_equal():
    sample = WeightedSample()
    assert sample.rounded(7) == []
    sample.add_many([1.0, 1.001, 1.005, 3.0])
    sample.add(1.001, 5)
    assert sample.rounded(7) == [(1.0, 7), (1 + 2**-7, 1), (3.0, 1)]


@given(many)
def test_a_small_form_loses_no_value_and_little_of_it(entries):
    small = filled(entries).rounded(7)
    values, counts = [value for value, _ in small], [count for _, count in small]
    assert values == sorted(set(values))
    assert np.repeat(values, counts) == pytest.approx(np.sort(written_out(entries)), rel=2**-8)
