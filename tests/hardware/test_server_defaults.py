"""Limits of a step where nothing is said, by GPU, and where a scenario says something."""

import pytest

from sim.hardware.server_defaults import server_defaults
from sim.scenario.load import load_scenario
from tests.hardware.models import gpu


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("h100-80gb", (8192, 1024)),
        ("h200-141gb", (8192, 1024)),
        ("b200", (16_384, 1024)),
        ("a100-80gb", (2048, 256)),
        ("a100-40gb", (2048, 256)),
        ("l40s", (2048, 256)),
    ],
)
def test_limits_of_shipped_gpus(name: str, limits: tuple[int, int]) -> None:
    assert server_defaults(gpu(name)) == limits


@pytest.mark.parametrize(("gib", "tokens"), [(69, 2048), (70, 8192), (159, 8192), (160, 16_384)])
def test_memory_decides(gib: int, tokens: int) -> None:
    changed = gpu("h100-80gb").model_copy(update={"memory_bytes": gib * 2**30})
    assert server_defaults(changed).max_num_batched_tokens == tokens


def test_a_scenario_takes_them_and_its_own_before() -> None:
    engine = load_scenario("qwen14b-agg4", ["gpu=a100-80gb"]).engine
    assert (engine.max_num_batched_tokens, engine.max_num_seqs) == (2048, 256)
    engine = load_scenario("qwen14b-agg4", ["gpu=a100-80gb", "engine.max_num_seqs=64"]).engine
    assert (engine.max_num_batched_tokens, engine.max_num_seqs) == (2048, 64)


def test_written_out_they_stay_what_they_were() -> None:
    scenario = load_scenario("qwen14b-agg4", ["gpu=a100-80gb"])
    engine = scenario.to_dict()["engine"]
    assert (engine["max_num_batched_tokens"], engine["max_num_seqs"]) == (2048, 256)
