"""Links by GPU, where a scenario gives none."""

import pytest

from sim.scenario.load import load_scenario


@pytest.mark.parametrize(("gpu", "bandwidth"), [("h100-80gb", 50e9), ("a100-80gb", 25e9), ("b200", 50e9)])
def test_a_generation_of_pcie_halves_or_doubles(gpu: str, bandwidth: float) -> None:
    found = load_scenario("agg8", [f"gpu={gpu}", "model=qwen3-8b-bf16"])
    assert found.host_link().bandwidth_bytes_per_s == bandwidth


def test_without_nvlink_gpus_of_a_node_pull_over_pcie() -> None:
    found = load_scenario("2p6d", ["gpu=l40s", "model=qwen3-8b-bf16"])
    assert found.network().nvlink.bandwidth_bytes_per_s == 25e9
    assert load_scenario("2p6d").network().nvlink.bandwidth_bytes_per_s == 120e9


def test_a_bandwidth_that_is_given_stays() -> None:
    given = ["gpu=l40s", "model=qwen3-8b-bf16", "disaggregation.network.nvlink.bandwidth_bytes_per_s=1e9"]
    assert load_scenario("2p6d", given).network().nvlink.bandwidth_bytes_per_s == 1e9
    given = ["gpu=a100-80gb", "model=qwen3-8b-bf16", "offload.link.bandwidth_bytes_per_s=9e9"]
    assert load_scenario("agg8", given).host_link().bandwidth_bytes_per_s == 9e9


def test_links_that_aggregated_workers_do_not_have_are_left_as_they_are() -> None:
    found = load_scenario("agg8", ["gpu=l40s", "model=qwen3-8b-bf16"])
    assert found.disaggregation == load_scenario("agg8").disaggregation
