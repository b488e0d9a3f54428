from collections.abc import Sequence

import numpy as np
import pytest

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms

BLANK = CostTerms(*[0] * len(CostTerms._fields))
ROWS = [
    BLANK._replace(rank=3, cost=1.5, taint_factor=1.0, active_requests=2),
    BLANK._replace(rank=5, cost=0.5, taint_factor=1.0, active_requests=7),
    BLANK._replace(rank=9, cost=0.5, taint_factor=1.0, active_requests=2),
]


def by_columns() -> Candidates:
    """Return the same three, of whom all but rank, cost and requests is one number."""
    numbers = list(BLANK._replace(taint_factor=1.0))[2:-1]
    return Candidates([3, 5, 9], [np.array([1.5, 0.5, 0.5]), *numbers, np.array([2, 7, 2])])


@pytest.mark.parametrize("candidates", [by_columns(), Candidates.of(ROWS)])
def test_are_a_sequence_of_terms(candidates: Sequence[CostTerms]) -> None:
    assert len(candidates) == 3
    assert list(candidates) == ROWS
    assert [candidates[place] for place in (0, 1, 2, -1)] == [*ROWS, ROWS[-1]]
    assert candidates[1:] == ROWS[1:]
    assert ROWS[1] in candidates
    with pytest.raises(IndexError):
        candidates[3]


def test_the_numbers_of_a_term_are_python_s_own() -> None:
    candidates = by_columns()
    for terms in (candidates[0], next(iter(candidates))):
        assert [type(number) for number in terms] == [type(number) for number in ROWS[0]]


def test_which_ranks_share_the_least() -> None:
    assert by_columns().cheapest() == [5, 9]
    assert by_columns().least_loaded() == [3, 9]


def test_of_candidates_is_the_same_candidates() -> None:
    candidates = by_columns()
    assert Candidates.of(candidates) is candidates
