"""The fewest blocks that must be computed: by hand, and against every assignment to real caches."""

from collections import OrderedDict
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router.lookahead import LookUp, fewest_misses


def look_up(*blocks, counts=True, answer=None):
    return LookUp(BlockRuns.of(blocks), counts, None if answer is None else BlockRuns.of(answer))


def test_without_a_capacity_every_different_block_is_computed_once():
    assert fewest_misses([look_up(1, 2, 3), look_up(1, 2, 4), look_up(1, 2, 3)]) == 4


def test_room_for_two_keeps_what_is_wanted_the_soonest():
    # 1 2 | 3 4 | 1 2 | 3 4: after the second, 1 and 2 are wanted before 3 and 4; then 3 and 4 are gone.
    asked = [look_up(1, 2), look_up(3, 4), look_up(1, 2), look_up(3, 4)]
    assert fewest_misses(asked, 2) == 6
    assert fewest_misses(asked, 3) == 5
    assert fewest_misses(asked, 4) == 4
    assert fewest_misses(asked, 0) == 8


def test_part_of_what_a_look_up_wants_may_be_kept():
    assert fewest_misses([look_up(1, 2, 3), look_up(9), look_up(1, 2, 3)], 2) == 5


def test_what_does_not_count_costs_nothing_and_is_there_afterwards():
    assert fewest_misses([look_up(1, 2, counts=False), look_up(1, 2, 3)]) == 1
    assert fewest_misses([look_up(1, 2), look_up(1, 2, counts=False), look_up(1, 2)], 2) == 2


def test_an_answer_is_there_for_the_prompt_that_holds_it():
    assert fewest_misses([look_up(1, answer=[2, 3]), look_up(1, 2, 3, 4)]) == 2
    assert fewest_misses([look_up(1, answer=[2, 3]), look_up(1, 2, 3, 4)], 2) == 3


def lru_misses(prompts, workers, capacity, assignment):
    """Serve prompts one after another by caches that evict the block used the longest ago."""
    caches = [OrderedDict() for _ in range(workers)]
    computed = 0
    for prompt, worker in zip(prompts, assignment, strict=True):
        cache, hit = caches[worker], 0
        while hit < len(prompt) and prompt[hit] in cache:
            hit += 1
        computed += len(prompt) - hit
        for block in reversed(prompt):
            cache[block] = None
            cache.move_to_end(block)
        while len(cache) > capacity:
            cache.popitem(last=False)
    return computed


prefixes = st.lists(st.integers(0, 1), min_size=1, max_size=4)
"""A path in a tree: each of its nodes is a block."""


def blocks_of(path):
    """Return an id for every beginning of a path, ascending with depth."""
    return [2**depth + int("0" + "".join(map(str, path[:depth])), 2) for depth in range(1, len(path) + 1)]


@settings(max_examples=60)
@given(
    paths=st.lists(prefixes, min_size=1, max_size=6), workers=st.integers(1, 3), capacity=st.integers(1, 5)
)
def test_no_assignment_computes_fewer(paths, workers, capacity):
    prompts = [blocks_of(path) for path in paths]
    bound = fewest_misses([look_up(*prompt) for prompt in prompts], workers * capacity)
    best = min(
        lru_misses(prompts, workers, capacity, assignment)
        for assignment in product(range(workers), repeat=len(prompts))
    )
    assert bound <= best
    assert fewest_misses([look_up(*prompt) for prompt in prompts]) <= bound


def best_hits(prompts, capacity):
    """Return the most hits of any choice of what to keep, tried one by one."""
    spans = []
    for place, prompt in enumerate(prompts):
        for block in prompt:
            earlier = [other for other in range(place) if block in prompts[other]]
            if earlier:
                spans.append((earlier[-1], place))
    most = 0
    for kept in product((False, True), repeat=len(spans)):
        chosen = [span for span, keep in zip(spans, kept, strict=True) if keep]
        cover = [sum(start < at <= end for start, end in chosen) for at in range(len(prompts))]
        if max(cover, default=0) <= capacity:
            most = max(most, len(chosen))
    return most


@settings(max_examples=60)
@given(
    paths=st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1, max_size=5),
    capacity=st.integers(0, 4),
)
def test_it_is_the_best_choice_of_what_to_keep(paths, capacity):
    prompts = [blocks_of(path) for path in paths]
    asked = [look_up(*prompt) for prompt in prompts]
    assert fewest_misses(asked, capacity) == sum(map(len, prompts)) - best_hits(prompts, capacity)
