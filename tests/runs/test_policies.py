"""Which comparisons are of policies, and how far a policy is from the oracle."""

import pytest

from sim.runs.comparison import Comparison
from sim.runs.policies import above_oracle, policies_of
from tests.runs.comparisons import made, routed


def test_scenarios_that_have_their_policy_for_a_name_are_policies() -> None:
    runs = [routed("kv", 1.0), routed("random", 2.0, name="agg8/random")]

    assert policies_of(Comparison(["kv", "agg8/random"], runs)) == {"kv": "kv", "agg8/random": "random"}


def test_other_names_and_a_single_scenario_are_no_comparison_of_policies() -> None:
    assert policies_of(Comparison(["kv"], [routed("kv", 1.0)])) == {}
    assert policies_of(Comparison(["kv", "mine"], [routed("kv", 1.0), routed("kv", 1.0, name="mine")])) == {}
    assert policies_of(Comparison(["fast", "slow"], [made("fast", 1.0), made("slow", 2.0)])) == {}


def test_the_distance_from_the_oracle_is_paired_by_seed() -> None:
    # Recomputation is a tenth of the latency: 0.3 - 0.1, 0.5 - 0.2 and 0.7 - 0.3.
    runs = [routed("kv", ttft_s, seed) for seed, ttft_s in enumerate((3.0, 5.0, 7.0))]
    runs += [routed("oracle", ttft_s, seed) for seed, ttft_s in enumerate((1.0, 2.0, 3.0))]
    comparison = Comparison(["kv", "oracle"], runs)
    policies = policies_of(comparison)

    away = above_oracle(comparison, policies, "kv", ())
    itself = above_oracle(comparison, policies, "oracle", ())

    assert away is not None
    assert away.value == pytest.approx(0.3)
    assert away.n == 3
    # t(2) s / sqrt(3) with s = 0.1.
    assert away.high == pytest.approx(0.3 + 4.302653 * 0.1 / 3**0.5)
    assert itself is not None
    assert itself.value == 0


def test_each_scenario_has_an_oracle_of_its_own() -> None:
    runs = [
        routed("kv", 3.0, name="a/kv"),
        routed("oracle", 1.0, name="a/oracle"),
        routed("kv", 9.0, name="b/kv"),
    ]
    comparison = Comparison([run.scenario for run in runs], runs)
    policies = policies_of(comparison)

    away = above_oracle(comparison, policies, "a/kv", ())
    assert away is not None
    assert away.value == pytest.approx(0.2)
    assert above_oracle(comparison, policies, "b/kv", ()) is None
