"""Which clusters a size search tries."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.hardware.parallel import Parallel
from sim.runs.layouts import Configuration, Layout, Search, aggregated, layout_of, split
from sim.scenario.load import load_scenario

GIB = 2**30


def go(
    search: Search, holds: Callable[[Configuration], bool]
) -> tuple[list[Configuration], list[Configuration]]:
    """What a search finds, and what it tried."""
    tried: list[Configuration] = []
    try:
        asked = next(search)
        while True:
            tried.append(asked)
            asked = search.send(holds(asked))
    except StopIteration as end:
        return end.value, tried


def gpus(tried: list[Configuration]) -> list[int]:
    return [configuration.layout.gpus for configuration in tried]


@given(most=st.integers(1, 64), needed=st.integers(1, 80))
def test_the_fewest_workers_are_found_with_few_tries(most: int, needed: int) -> None:
    found, tried = go(aggregated(most, [0]), lambda c: c.layout.gpus >= needed)

    assert gpus(found) == ([needed] if needed <= most else [])
    assert len(set(tried)) <= 9
    assert all(1 <= n <= most for n in gpus(tried))


def test_bisection_is_checked_beside_what_it_found() -> None:
    # 16, 8, 4, 6, 7 by bisection; then 6, known, 5, and the fewest.
    _, tried = go(aggregated(16, [0]), lambda c: c.layout.gpus >= 7)
    assert gpus(tried) == [16, 8, 4, 6, 7, 6, 5, 1]


def test_a_hole_of_one_below_what_was_found_is_seen_through() -> None:
    found, _ = go(aggregated(16, [0]), lambda c: c.layout.gpus in (6, *range(8, 17)))
    assert gpus(found) == [6]


def test_half_is_tried_where_the_most_do_not_hold() -> None:
    found, tried = go(aggregated(8, [0]), lambda c: c.layout.gpus in (3, 4))
    assert (gpus(found), gpus(tried)) == ([3], [8, 4, 3, 2, 1])


@pytest.mark.parametrize("holding", [{1}, {1, 8}, {1, 2, 8}, {1, 6, 7, 8}, {1, 4, 8}])
def test_one_gpu_that_holds_is_found_whatever_more_of_them_do(holding: set[int]) -> None:
    found, tried = go(aggregated(8, [0]), lambda c: c.layout.gpus in holding)
    assert gpus(found) == [1]
    assert len(set(tried)) <= 6


@given(most=st.integers(2, 64))
def test_the_smallest_split_cluster_is_tried_whatever_more_workers_do(most: int) -> None:
    found, _ = go(split(1, 1, most, [0]), lambda c: c.layout.gpus == 2)
    assert [str(c.layout) for c in found] == ["1P1D"]


def test_nothing_is_found_where_the_only_size_does_not_hold() -> None:
    assert go(aggregated(1, [0]), lambda c: False) == ([], [Configuration(Layout(1), 0)])


def test_less_host_ram_starts_from_what_more_needed() -> None:
    needed = {64 * GIB: 5, 32 * GIB: 5, 0: 7}
    found, tried = go(aggregated(16, list(needed)), lambda c: c.layout.gpus >= needed[c.host_bytes])

    assert [(c.host_bytes // GIB, c.layout.gpus) for c in found] == [(64, 5), (32, 5), (0, 7)]
    # 5 holds, 4 does not, what is beside, and the fewest.
    assert gpus([c for c in tried if c.host_bytes == 32 * GIB]) == [5, 4, 4, 3, 1]


def test_a_split_cluster_loses_workers_as_long_as_it_holds() -> None:
    found, tried = go(split(1, 1, 16, [0]), lambda c: c.layout.prefill >= 2 and c.layout.decode >= 5)
    assert [str(c.layout) for c in found] == ["2P5D"]
    assert all(c.layout.prefill and c.layout.decode for c in tried)


@pytest.mark.parametrize(("ratio", "largest"), [((1, 3), "2P4D"), ((1, 1), "3P3D"), ((3, 1), "4P2D")])
def test_every_number_of_gpus_has_a_split_of_about_the_ratio(ratio: tuple[int, int], largest: str) -> None:
    found, tried = go(split(*ratio, 6, [0]), lambda c: False)
    assert (found, str(tried[0].layout)) == ([], largest)


def test_both_sides_have_a_worker() -> None:
    _, tried = go(split(1, 9, 2, [0]), lambda c: True)
    assert {str(c.layout) for c in tried} == {"1P1D"}


def test_engines_of_several_gpus_are_searched_by_workers_within_the_gpus() -> None:
    two, four = Parallel(tensor=2), Parallel(tensor=4)
    found, tried = go(aggregated(9, [0], two), lambda c: c.layout.prefill >= 2)
    assert [str(c.layout) for c in found] == ["2 x TP2"]
    assert str(tried[0].layout) == "4 x TP2"
    assert go(aggregated(3, [0], four), lambda c: True) == ([], [])
    found, tried = go(split(1, 1, 8, [0], parallel=two), lambda c: c.layout.decode >= 2)
    assert [str(c.layout) for c in found] == ["1P TP2 + 2D"]
    assert max(c.layout.gpus for c in tried) <= 8


@pytest.mark.parametrize("name", ["agg8", "2p6d", "1p3d-no-offload"])
@pytest.mark.parametrize(
    ("configuration", "workers", "cpu_bytes"),
    [
        (Configuration(Layout(3), 0), "3", None),
        (Configuration(Layout(3), GIB), "3", GIB),
        (Configuration(Layout(1, 4), GIB), "1P4D", GIB),
        (Configuration(Layout(2, 0, Parallel(tensor=4)), GIB), "2 x TP4", GIB),
        (
            Configuration(Layout(2, 4, Parallel(tensor=2), Parallel(tensor=1)), 0),
            "2P TP2 + 4D",
            None,
        ),
    ],
)
def test_a_scenario_gets_the_cluster(
    name: str, configuration: Configuration, workers: str, cpu_bytes: int | None
) -> None:
    scenario = load_scenario(name, configuration.overrides())
    assert str(scenario.workers) == workers
    assert (scenario.offload.cpu_bytes if scenario.offload else None) == cpu_bytes
    assert scenario.disaggregation.placement.prefill_nodes is None
    layout = layout_of(scenario.to_dict()["workers"])
    assert (layout.prefill, layout.decode) == configuration.layout[:2]
    assert layout.gpus == configuration.layout.gpus


def test_only_workers_that_compute_prompts_have_host_ram() -> None:
    assert Configuration(Layout(2, 6), GIB).total_host_bytes == 2 * GIB
    assert Configuration(Layout(8), GIB).total_host_bytes == 8 * GIB
