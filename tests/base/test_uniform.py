"""The numbers themselves are part of the interface: a changed draw changes every recorded result."""

from hypothesis import given
from hypothesis import strategies as st

from sim.base.uniform import draw_bits, uniform

keys = st.tuples(
    st.integers(0, 2**31), st.sampled_from(["route", "think"]), st.integers(0, 10**6), st.integers(0, 5)
)

EXPECTED_BITS = 15_194_079_038_327_524_334


def test_draws_are_the_same_for_ever():
    assert draw_bits(0, "route", 0) == EXPECTED_BITS
    assert uniform(0, "route", 0) == (EXPECTED_BITS >> 11) / 2**53


@given(keys)
def test_a_draw_is_in_the_unit_interval_and_repeats(key):
    assert 0 <= uniform(*key) < 1
    assert uniform(*key) == uniform(*key)


@given(keys, keys)
def test_different_keys_draw_differently(one, other):
    assert (draw_bits(*one) == draw_bits(*other)) == (one == other)


def test_parts_of_a_key_do_not_run_together():
    assert draw_bits(1, "a", 23) != draw_bits(1, "a", 2, 3)
    assert draw_bits(11, "a", 1) != draw_bits(1, "a", 11)


def test_draws_are_uniform():
    n, bins = 20_000, 20
    counts = [0] * bins
    for request in range(n):
        counts[int(uniform(7, "route", request) * bins)] += 1
    chi_square = sum((count - n / bins) ** 2 / (n / bins) for count in counts)
    assert chi_square < 43.8, "the 0.1 % point with 19 degrees of freedom"
