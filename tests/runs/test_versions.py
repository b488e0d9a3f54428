"""Whether the rules of a release made any difference."""

from dataclasses import replace

from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.runs.versions import same_under_all_rules
from tests.runs.comparisons import made


def under(version: str, ttft_s: float | None, seed: int = 0) -> Run:
    run = made("agg8", ttft_s, seed, written={"router.version": version})
    return replace(run, settings={**run.settings, "router": {"version": version}})


def of(*runs: Run) -> Comparison:
    return Comparison(["agg8"], runs)


def test_equal_numbers_under_equal_seeds_are_the_same() -> None:
    runs = [under("1.5", 1.0), under("1.6", 1.0), under("1.5", 2.0, 1), under("1.6", 2.0, 1)]

    assert same_under_all_rules(of(*runs)) is True


def test_one_number_under_one_seed_makes_a_difference() -> None:
    runs = [under("1.5", 1.0), under("1.6", 1.0), under("1.5", 2.0, 1), under("1.6", 2.1, 1)]

    assert same_under_all_rules(of(*runs)) is False


def test_there_is_nothing_to_say_without_two_runs_that_came_to_an_end() -> None:
    assert same_under_all_rules(of(under("1.5", 1.0))) is None
    assert same_under_all_rules(of(under("1.5", 1.0), under("1.6", None))) is None
    assert same_under_all_rules(of(under("1.5", 1.0), under("1.6", 1.0, 1))) is None
    assert same_under_all_rules(of(made("agg8", 1.0))) is None
