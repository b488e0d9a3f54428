"""The order of a model's layers, and how a pipeline divides them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.hardware.layers import Layer, layers_of, stages
from tests.hardware.models import shipped, toy

WINDOWS = {"layers": 5, "tokens": 64}
MAMBA = {"layers": 3, "heads": 4, "head_dim": 8, "state_size": 16}


def letters(mixers: list[str | None]) -> str:
    return "".join((mixer or "-")[0] for mixer in mixers)


def test_full_attention_ends_every_stretch_unless_said_otherwise() -> None:
    found = letters([layer.mixer for layer in layers_of(toy(full_attention_layers=2, windows=WINDOWS))])
    assert found == "wwwfwwf"
    hybrid = letters([layer.mixer for layer in layers_of(shipped("qwen3.8-27b-fp8"))])
    assert hybrid == "lllf" * 16


def test_a_pattern_is_repeated() -> None:
    model = toy(full_attention_layers=4, windows={"layers": 3, "tokens": 64}, layer_pattern="FW")
    assert letters([layer.mixer for layer in layers_of(model)]) == "fwfwfwf"
    with pytest.raises(ValidationError, match="layer_pattern has 4 layers F in 7, full_attention_layers = 3"):
        toy(full_attention_layers=3, windows={"layers": 4, "tokens": 64}, layer_pattern="FW")
    with pytest.raises(ValidationError, match="layer_pattern has layers E: a model of experts has a table"):
        toy(full_attention_layers=1, layer_pattern="FE")


def test_layers_of_their_own_have_one_part_each() -> None:
    experts = {"routed": 4, "per_token": 2, "intermediate_size": 8}
    model = toy(
        full_attention_layers=1, mamba=MAMBA, experts=experts, layer_pattern="ME-M*EM".replace("*", "F")
    )
    assert layers_of(model) == (
        *(Layer("mamba", None), Layer(None, "experts"), Layer(None, "dense"), Layer("mamba", None)),
        *(Layer("full", None), Layer(None, "experts"), Layer("mamba", None)),
    )
    assert model.layers == 7


def test_experts_skip_the_first_layers_and_all_but_every_nth() -> None:
    experts = {"routed": 4, "per_token": 2, "intermediate_size": 8, "first_dense_layers": 2, "every": 2}
    model = toy(full_attention_layers=6, experts=experts)
    assert [layer.mlp for layer in layers_of(model)] == ["dense"] * 3 + ["experts", "dense", "experts"]


def test_layers_for_multi_token_prediction_come_last() -> None:
    model = shipped("gpt-oss-120b", mtp_layers=1)
    assert layers_of(model)[-1] == Layer("full", "experts")
    assert len(layers_of(model)) == 37
    assert [len(stage.layers) for stage in stages(model, 2)] == [18, 19]


@pytest.mark.parametrize(
    ("layers", "pipeline", "sizes"),
    [(61, 4, [15, 15, 16, 15]), (62, 4, [15, 16, 16, 15]), (63, 4, [16, 16, 16, 15]), (8, 3, [3, 3, 2])],
)
def test_what_is_over_goes_before_the_last_stage(layers: int, pipeline: int, sizes: list[int]) -> None:
    found = stages(toy(full_attention_layers=layers), pipeline)
    assert [len(stage.layers) for stage in found] == sizes
    assert [stage.first for stage in found] == [True] + [False] * (pipeline - 1)
    assert [stage.last for stage in found] == [False] * (pipeline - 1) + [True]


@given(layers=st.integers(1, 80), pipeline=st.integers(1, 16))
def test_stages_are_the_layers_in_order(layers: int, pipeline: int) -> None:
    model = toy(full_attention_layers=layers)
    found = stages(model, min(layers, pipeline))
    assert sum((stage.layers for stage in found), ()) == layers_of(model)
    assert max(len(s.layers) for s in found) - min(len(s.layers) for s in found) <= 1
