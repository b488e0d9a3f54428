"""Sets of sessions: which runs they are, and one number for each."""

from sim.published.sets import Replicate, by_set, replicates, replicates_of_sets
from sim.published.study import GENERATED, Plans, Workload, scenario_at
from tests.published.test_study import POINT


def test_replicates() -> None:
    assert replicates(2, 0) == (Replicate(0, None), Replicate(1, None))
    assert replicates(1, 2) == (Replicate(0, 1), Replicate(0, 2))


def test_a_generated_set_with_one_seed_is_that_seed() -> None:
    assert replicates_of_sets(3, 1, 0, recorded=False) == replicates(3, 0)


def test_sets_have_seeds_of_their_own() -> None:
    assert replicates_of_sets(2, 1, 0, recorded=True) == (Replicate(0, None, 0), Replicate(1, None, 1))
    assert replicates_of_sets(2, 2, 1, recorded=False) == (
        Replicate(0, 1, 0),
        Replicate(1, 1, 0),
        Replicate(2, 1, 1),
        Replicate(3, 1, 1),
    )


def test_a_set_has_the_median_of_its_runs_and_a_run_of_no_set_its_own() -> None:
    runs = [(Replicate(seed, None, seed // 3), float(value)) for seed, value in enumerate((1, 9, 2, 5, 7, 6))]
    assert by_set(runs) == [2.0, 6.0]
    assert by_set([(Replicate(seed, None), 3.0) for seed in (0, 1)]) == [3.0, 3.0]
    assert by_set([]) == []


def test_a_set_is_set_in_the_scenario() -> None:
    plans = Plans([], ())
    sent = Workload(GENERATED, ())
    drawn = [
        scenario_at(sent, POINT, one, plans).workload.session_set
        for one in (Replicate(1, None), Replicate(1, None, 4))
    ]
    assert drawn == [None, 4]
