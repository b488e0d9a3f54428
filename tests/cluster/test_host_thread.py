"""One thread that takes prompts and passes tokens on: two seconds a token of a prompt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.cluster.host_thread import HostThread


@pytest.fixture
def thread():
    """Busy from 10 to 20 s, and with a prompt that came at 12 s up to 24 s."""
    made = HostThread(2.0)
    assert [made.take(5, 10.0), made.take(2, 12.0)] == [20.0, 24.0]
    return made


@pytest.mark.parametrize(
    ("comes_s", "passed_s"),
    [(9.0, 9.0), (10.0, 10.0), (11.0, 20.0), (12.0, 20.0), (12.5, 24.0), (25.0, 25.0)],
)
def test_a_token_waits_for_the_prompts_that_came_before_it(thread, comes_s, passed_s):
    assert thread.passed_s(comes_s) == passed_s


def test_a_prompt_begins_when_the_thread_is_free(thread):
    assert thread.take(1, 30.0) == 32.0


def test_prompts_that_take_no_time_keep_nobody():
    thread = HostThread(0.0)
    assert thread.take(100, 1.0) == 1.0
    assert thread.passed_s(1.5) == 1.5


@given(
    prompts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), max_size=8).map(sorted),
    comes_s=st.lists(st.integers(0, 60), max_size=8).map(sorted),
)
def test_many_at_once_are_passed_on_as_one_by_one_and_none_overtakes(prompts, comes_s):
    thread = HostThread(0.1)
    for at_s, tokens in prompts:
        thread.take(tokens, at_s)
    passed_s = thread.all_passed_s(np.array(comes_s, dtype=float))
    assert passed_s.tolist() == [thread.passed_s(time_s) for time_s in comes_s]
    assert (np.diff(passed_s) >= 0).all()
    assert (passed_s >= comes_s).all()
