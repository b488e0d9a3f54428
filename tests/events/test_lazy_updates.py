from math import inf

from hypothesis import given
from hypothesis import strategies as st

from sim.events.lazy_updates import LazyUpdates


class Workers:
    """Workers that change their caches at given times and note when they are told to catch up."""

    def __init__(self, *due_s):
        self.lazy_updates = LazyUpdates()
        self.log = []
        self.due_s = [list(times) for times in due_s]
        for worker, times in enumerate(self.due_s):
            self.lazy_updates.enter(
                worker, lambda now_s, other, worker=worker: self.catch_up(worker, now_s, other)
            )
            self.lazy_updates.note(worker, times[0])

    def catch_up(self, worker, now_s, other):
        due_s = self.due_s[worker]
        while due_s and (due_s[0], worker) < (now_s, other):
            self.log.append((worker, due_s.pop(0)))
        self.lazy_updates.note(worker, due_s[0] if due_s else inf)


def test_only_those_that_are_behind_catch_up():
    workers = Workers([1.0, 2.0, 5.0], [3.0], [0.5])
    workers.lazy_updates.settle(2.5)
    assert workers.log == [(2, 0.5), (0, 1.0), (0, 2.0)]
    workers.lazy_updates.settle(2.75)
    assert len(workers.log) == 3
    workers.lazy_updates.settle(9.0)
    assert workers.log[3:] == [(1, 3.0), (0, 5.0)]


def test_at_one_instant_workers_have_their_say_in_order():
    workers = Workers([1.0], [1.0], [1.0])
    workers.lazy_updates.settle(1.0, -1)
    assert workers.log == []
    workers.lazy_updates.settle(1.0, 1)
    assert workers.log == [(0, 1.0)]
    workers.lazy_updates.settle(1.0)
    assert workers.log == [(0, 1.0), (1, 1.0), (2, 1.0)]


def test_what_a_worker_takes_back_does_not_happen():
    workers = Workers([1.0], [2.0])
    workers.lazy_updates.note(0, inf)
    workers.lazy_updates.note(1, 4.0)
    workers.lazy_updates.settle(3.0)
    assert workers.log == []
    workers.due_s[0], workers.due_s[1] = [2.0], [4.0]
    workers.lazy_updates.note(0, 1.0)  # said twice, heard once
    workers.lazy_updates.note(0, inf)
    workers.lazy_updates.note(0, 2.0)
    workers.lazy_updates.settle(9.0)
    assert workers.log == [(0, 2.0), (1, 4.0)]


times_s = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=6).map(sorted)


@given(st.lists(times_s, min_size=1, max_size=4), st.lists(st.integers(0, 21).map(float)).map(sorted))
def test_every_change_before_a_look_has_been_made_and_none_after(due_s, looks_s):
    workers = Workers(*due_s)
    for look_s in looks_s:
        workers.lazy_updates.settle(look_s, -1)
        made = {(worker, time) for worker, times in enumerate(due_s) for time in times if time < look_s}
        assert set(workers.log) == made
