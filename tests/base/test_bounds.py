"""Every number of the settings has limits, and what they allow comes to an end."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.hardware.coefficient_file import CoefficientFile
from sim.router.overrides import Overrides
from sim.scenario.load import load_scenario
from sim.scenario.scenario import scenario_schema
from sim.simulation.run import run

WITHOUT_END = {"smooth_max_p"}
"""An infinite exponent takes the longer of two times."""


def _numbers(node: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(node, dict):
        if node.get("type") in ("integer", "number") and not {"const", "enum"} & node.keys():
            yield name, node
        for key, inner in node.items():
            yield from _numbers(inner, name if key in ("anyOf", "items", "prefixItems") else key)
    elif isinstance(node, list):
        for inner in node:
            yield from _numbers(inner, name)


@pytest.mark.parametrize(
    "schema",
    [scenario_schema(), CoefficientFile.model_json_schema(), Overrides.model_json_schema()],
    ids=["scenario", "coefficients", "router overrides"],
)
def test_every_number_has_a_least_and_a_greatest_value(schema: Mapping[str, Any]) -> None:
    numbers = [*_numbers(schema, "")]
    assert numbers
    for name, node in numbers:
        assert {"minimum", "exclusiveMinimum"} & node.keys(), f"{name}: {node}"
        assert {"maximum", "exclusiveMaximum"} & node.keys() or name in WITHOUT_END, f"{name}: {node}"


@pytest.mark.parametrize(
    "override",
    [
        "timing.t_floor_s=1e308",
        "timing.a_pair_s=1e308",
        "timing.c_kv_s_per_token=1e308",
        "frontend.alpha_in_s=1e308",
        "frontend.dispatch_s=1e18",
        "router.overlap_score_credit=1e308",
        "router.prefill_load_scale=1e308",
        "router.temperature=1e308",
        "replay.speedup=1e-18",
        "workload.output_factor=1e308",
        "gpu.memory_bytes=1e308",
        "offload={cpu_bytes=1e308}",
        "engine.max_num_seqs=1" + "0" * 400,
        "engine.kv_blocks=1" + "0" * 5000,
        "seed=1" + "0" * 400,
        "timing.t_floor_s=nan",
        "router.temperature=inf",
    ],
)
def test_numbers_out_of_all_proportion_are_refused_with_their_key(override: str) -> None:
    with pytest.raises(InputError) as caught:
        load_scenario("agg8", override)
    message = str(caught.value)
    assert override.split("=", maxsplit=1)[0].rsplit(".", maxsplit=1)[-1] in message
    assert len(message) < 12_000


@pytest.mark.parametrize(
    "overrides",
    [
        ["timing.t_floor_s=1e9"],
        ["timing.a_pair_s=1e9"],
        ["timing.c_kv_s_per_token=1e9"],
        ["frontend.alpha_in_s_per_token=1e9"],
        ["replay.speedup=1e-9"],
        ["workload.start_gap_s=1e9"],
        ["gpu.memory_bandwidth_bytes_per_s=1e-300", "timing.preset=roofline"],
        ["gpu.achieved.weight_read=1e-300", "timing.preset=roofline"],
        ["offload={cpu_bytes='64GiB', link={bandwidth_bytes_per_s=1e-300}}", "engine.kv_blocks=4000"],
    ],
)
def test_what_would_take_for_ever_is_refused_while_it_runs(overrides: list[str]) -> None:
    with pytest.raises(InputError, match=r"at most 1e\+09|equal to 1000000000 s|beyond 1e\+10 s"):
        run(load_scenario("agg8", ["workload.sessions=3", "workload.turns=3", *overrides]))


def test_the_greatest_weights_give_finite_numbers() -> None:
    keys = ("overlap_score_credit", "overlap_score_credit_decay", "prefill_load_scale", "temperature")
    weights = [f"router.{key}=1e12" for key in (*keys, "decode_active_request_weight")]
    result = run(load_scenario("agg8", ["workload.sessions=3", "workload.turns=3", *weights]))
    assert result.summary().loc["simulated_s", "value"] < 1e9
    assert result.decisions["cost"].abs().max() < float("inf")
