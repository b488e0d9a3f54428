"""Who may serve a request, by hand."""

from math import exp, tanh

import numpy as np
import pytest

from sim.router.eligible import Eligible, NoEligibleWorkerError
from tests.router.helpers import query

TAINTS = [frozenset({"a", "b"}), frozenset({"b"}), frozenset[str]()]


def ranks(taints: list[frozenset[str]] | None = None, **demands: object) -> tuple[list[int], int]:
    found, among = Eligible(3, taints).of(query(**demands))
    return list(found), among


def test_who_demands_nothing_may_go_anywhere() -> None:
    assert ranks() == ([0, 1, 2], 0b111)
    assert ranks(TAINTS) == ([0, 1, 2], 0b111)


@pytest.mark.parametrize(
    ("demands", "expected"),
    [
        ({"pinned": 2}, ([2], 0b100)),
        ({"pinned": 0}, ([0], 0b001)),
        ({"allowed": frozenset({2, 0})}, ([0, 2], 0b101)),
        ({"required_taints": frozenset({"b"})}, ([0, 1], 0b011)),
        ({"required_taints": frozenset({"a", "b"})}, ([0], 0b001)),
        ({"required_taints": frozenset({"b"}), "allowed": frozenset({1, 2})}, ([1], 0b010)),
    ],
)
def test_every_demand_has_to_be_met(demands: dict[str, object], expected: tuple[list[int], int]) -> None:
    assert ranks(TAINTS, **demands) == expected


@pytest.mark.parametrize(
    "demands",
    [
        {"allowed": frozenset[int]()},
        {"allowed": frozenset({7})},
        {"pinned": 1, "allowed": frozenset({0})},
        {"pinned": 1, "required_taints": frozenset({"a"})},
        {"required_taints": frozenset({"c"})},
    ],
)
def test_if_nobody_meets_them_it_is_said_what_was_demanded(demands: dict[str, object]) -> None:
    with pytest.raises(NoEligibleWorkerError, match="request 0: none of 3 ranks is eligible"):
        ranks(TAINTS, **demands)


def test_without_taints_nobody_has_what_is_required() -> None:
    with pytest.raises(NoEligibleWorkerError, match=r"required taints \['a'\]"):
        ranks(required_taints=frozenset({"a"}))


def test_preferred_taints_make_cheaper_or_dearer_by_their_sum() -> None:
    """Weights of the taints that a rank has: 0.5 - 1.5, -1.5, none."""
    asked = query(preferred_taints={"a": 0.5, "b": -1.5, "c": 9.0})
    assert np.array_equal(Eligible(3, TAINTS).factors(asked), [exp(tanh(1.0)), exp(tanh(1.5)), 1.0])


def test_weights_are_floats_of_32_bits() -> None:
    (factor,) = np.atleast_1d(Eligible(1, [frozenset({"a"})]).factors(query(preferred_taints={"a": 0.1})))
    assert factor == exp(-tanh(float(np.float32(0.1)))) != exp(-tanh(0.1))


def test_who_is_pinned_has_no_preference_and_others_without_one_cost_what_they_cost() -> None:
    eligible = Eligible(3, TAINTS)
    assert eligible.factors(query(pinned=0, preferred_taints={"a": 0.5})) == 1.0
    assert eligible.factors(query()) == 1.0
