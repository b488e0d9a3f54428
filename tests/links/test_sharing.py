"""The two rules by which transfers share links, by hand and by what defines them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.links.sharing import RULES, Route, first_come, max_min_fair


def test_alone_a_transfer_has_the_narrowest_of_its_links() -> None:
    for rule in RULES.values():
        assert rule([], [5.0]) == []
        assert rule([(0, 1)], [6.0, 4.0]) == [(4.0, 1)]


def test_fair_shares_of_one_link() -> None:
    assert max_min_fair([(0,), (0,), (0,)], [9.0]) == [(3.0, 0)] * 3


def test_what_a_bottleneck_leaves_goes_to_the_others() -> None:
    """Links 0 and 1 of 12 each. Two transfers cross both, one more link 0, none more link 1.

    Link 0 with three is full first, at 4 each; on link 1 that leaves 4 unused, which nobody can take.
    """
    assert max_min_fair([(0, 1), (0, 1), (0,)], [12.0, 12.0]) == [(4.0, 0)] * 3
    # With another one on link 1 only, that one takes the rest: 12 - 4 - 4.
    assert max_min_fair([(0, 1), (0, 1), (0,), (1,)], [12.0, 12.0])[3] == (4.0, 1)
    # With just one crossing both: 6 each on link 0, and 6 for the one on link 1.
    assert max_min_fair([(0, 1), (0,), (1,)], [12.0, 30.0]) == [(6.0, 0), (6.0, 0), (24.0, 1)]


def test_first_come_by_hand() -> None:
    """The second waits for the first on link 1, and the third behind the second on link 0, which is idle."""
    routes = [(2, 1), (0, 1), (0, 3), (4, 5)]
    assert first_come(routes, [8.0] * 6) == [(8.0, 1), (0.0, 1), (0.0, 0), (8.0, 4)]


links = st.integers(0, 5)
routes_of = st.lists(st.tuples(links, links.map(lambda link: link + 6)), max_size=8)
bandwidths_of = st.lists(st.floats(0.1, 1e12), min_size=12, max_size=12)


@given(routes_of, bandwidths_of)
def test_max_min_fairness_is_what_defines_it(routes: list[Route], bandwidths: list[float]) -> None:
    """No link above its bandwidth; each transfer has a full link on which nobody is faster."""
    rates = max_min_fair(routes, bandwidths)
    carried = [
        sum(rate for route, (rate, _) in zip(routes, rates, strict=True) if link in route)
        for link in range(len(bandwidths))
    ]
    assert all(total <= limit * (1 + 1e-9) for total, limit in zip(carried, bandwidths, strict=True))
    for route, (rate, full) in zip(routes, rates, strict=True):
        assert full in route
        assert carried[full] == pytest.approx(bandwidths[full], rel=1e-9)
        others = [r for other, (r, _) in zip(routes, rates, strict=True) if full in other]
        assert rate >= max(others) * (1 - 1e-9)
        assert rate > 0


@given(routes_of, bandwidths_of)
def test_first_come_serves_each_link_in_order(routes: list[Route], bandwidths: list[float]) -> None:
    rates = first_come(routes, bandwidths)
    for i, (route, (rate, held_by)) in enumerate(zip(routes, rates, strict=True)):
        shared = {link for earlier in routes[:i] for link in earlier} & set(route)
        if shared:
            assert rate == 0.0
            assert held_by in shared
        else:
            assert rate == min(bandwidths[link] for link in route) == bandwidths[held_by]
