"""The order of an LRU by runs: its cuts by hand, its decisions key by key against a tier without runs."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim.kv.offload
from sim.kv.key_runs import Key, KeyRuns, runs_of_keys
from sim.kv.lru_order import LruOrder
from sim.kv.offload import IDLE, WRITING, LruTier
from sim.kv.runs import BlockRuns
from tests.kv.offload_keys import KeyByKeyTier, keys, order_of

IDLE_KEYS = dict.fromkeys(keys(*range(20)), IDLE)


def taken(order: LruOrder, count: int = 0, spared: tuple[int, ...] = ()) -> list[int] | None:
    found = order.take(count, IDLE_KEYS, IDLE, set(keys(*spared)))
    return None if found is None else [number for number, _ in found]


def appended(*runs: range) -> LruOrder:
    order = LruOrder()
    for run in runs:
        order.append(0, run.start, run.stop)
    return order


class TestOrder:
    def test_of_keys_that_became_idle_together_the_first_goes_first(self) -> None:
        assert taken(appended(range(4)), 3) == [0, 1, 2]

    def test_of_keys_touched_together_the_last_goes_first(self) -> None:
        order = appended(range(4))
        order.touch(0, 0, 4)
        assert taken(order, 3) == [3, 2, 1]

    def test_a_touch_inside_a_run_leaves_both_ends_their_places(self) -> None:
        order = appended(range(6), range(8, 9))
        order.touch(0, 2, 4)
        assert taken(order, 7) == [0, 1, 4, 5, 8, 3, 2]

    def test_a_touched_run_that_is_cut_still_goes_from_its_end(self) -> None:
        order = appended(range(6))
        order.touch(0, 0, 6)
        order.append(0, 2, 4)
        assert taken(order, 6) == [5, 4, 1, 0, 2, 3]

    def test_a_touch_takes_parts_of_several_runs(self) -> None:
        order = appended(range(3), range(4, 7))
        order.touch(0, 2, 5)
        there = dict.fromkeys(keys(0, 1, 2, 4, 5, 6), IDLE)
        assert order.take(6, there, IDLE, ()) == keys(0, 1, 5, 6, 4, 2)

    def test_a_touch_of_what_is_not_here_brings_nothing(self) -> None:
        order = appended(range(3))
        order.touch(0, 5, 9)
        order.touch(1, 0, 3)
        assert taken(order, 4) is None
        assert taken(order, 3) == [0, 1, 2]

    def test_what_is_spared_keeps_its_place(self) -> None:
        order = appended(range(4))
        assert taken(order, 2, spared=(0, 2)) == [1, 3]
        order.append(0, 10, 11)
        assert order.take(2, dict.fromkeys(keys(0, 2, 10), IDLE), IDLE, ()) == keys(0, 2)

    def test_what_was_taken_is_here_no_more(self) -> None:
        order = appended(range(4), range(4, 8))
        assert taken(order, 5) == [0, 1, 2, 3, 4]
        order.touch(0, 0, 8)
        assert taken(order, 3) == [7, 6, 5]


def test_keys_are_runs_of_a_group_in_their_order() -> None:
    assert runs_of_keys([(1, 0), (2, 0), (3, 1), (4, 1), (9, 1), (8, 1)]) == [
        (range(1, 3), 0),
        (range(3, 5), 1),
        (range(9, 10), 1),
        (range(8, 9), 1),
    ]
    prompt = KeyRuns(BlockRuns([range(1, 3), range(7, 9)]), 2)
    assert runs_of_keys(prompt) == runs_of_keys([*prompt]) == [(range(1, 3), 2), (range(7, 9), 2)]
    assert [*prompt] == [(1, 2), (2, 2), (7, 2), (8, 2)]
    assert [*reversed(prompt)] == [*prompt][::-1]
    assert (len(prompt), prompt[2], [*prompt[1:3]]) == (4, (7, 2), [(2, 2), (7, 2)])


def prompts(random: Random) -> list[KeyRuns]:
    """Prompts that share their heads, in two groups."""
    heads = [[range(0, 6)], [range(0, 3), range(10, 14)], [range(0, 3), range(10, 12), range(20, 25)]]
    return [KeyRuns(BlockRuns(random.choice(heads)), group) for group in range(2)]


@pytest.mark.skipif(
    not str(sim.kv.offload.__file__).endswith(".py"),
    reason="the tier key by key is not compiled, and cannot inherit from one that is",
)
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 14), st.integers(10, 120))
def test_runs_of_keys_decide_as_single_keys_do(seed: int, capacity: int, acts: int) -> None:
    random = Random(seed)
    tier, single = LruTier(capacity), KeyByKeyTier(capacity)
    writing: list[Key] = []
    reading: list[list[Key]] = []
    for _ in range(acts):
        names = random.choice(prompts(random))
        start = random.randrange(len(names))
        part = names[start : random.randint(start, len(names))]
        listed = random.sample([*part], len(part)) if random.random() < 0.2 else [*part]
        match random.choice(["store", "store", "stored", "touch", "touch", "pin", "unpin"]):
            case "store":
                room = tier.store(listed)
                assert room == single.store(listed)
                writing += room[0] if room else []
            case "stored":
                count = random.choice([random.randint(0, len(writing)), len(writing)])
                done = random.sample(writing, count) if random.random() < 0.3 else writing[:count]
                writing = [key for key in writing if key not in done]
                tier.stored(done)
                single.stored(done)
            case "touch":
                tier.touch(part if listed == [*part] else listed)
                single.touch(listed)
            case "pin":
                ready = [key for key in listed if tier.state(key) not in {None, WRITING}]
                reading.append(ready)
                tier.pin(ready)
                single.pin(ready)
            case "unpin" if reading:
                ready = reading.pop(random.randrange(len(reading)))
                tier.unpin(ready)
                single.unpin(ready)
        everything = [(number, group) for number in range(25) for group in range(2)]
        assert [tier.state(key) for key in everything] == [single.state(key) for key in everything]
        assert order_of(tier) == [*single.order]
