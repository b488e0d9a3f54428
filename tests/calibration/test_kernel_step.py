"""What a step of a model is made of, and the coefficients that follow from rates."""

from collections import Counter

import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset, preset_names
from sim.calibration.kernel_step import step_parts, step_values
from sim.calibration.model_kernels import elementwise_bytes_per_token, matrices
from sim.hardware.model import ModelSettings
from sim.hardware.step_time import StepCoefficients, StepLaw

QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
TINY = ModelSettings(
    name="tiny",
    hidden_size=1000,
    intermediate_size=3000,
    vocab_size=50_000,
    full_attention_layers=10,
    attention_heads=8,
    kv_heads=2,
    head_dim=100,
)
RATES = {
    "weights": {"flop_per_s": 1e15, "bytes_per_s": 4e12, "launch_s": 5e-6, "p": 1e3},
    "head": {"flop_per_s": 1e15, "bytes_per_s": 2e12, "launch_s": 5e-6, "p": 1e3},
    "prefill": {"flop_per_s": 5e14, "bytes_per_s": 1e12, "launch_s": 20e-6},
    "decode": {"bytes_per_s": 1e12, "launch_s": 10e-6},
}


def shipped(name: str) -> ModelSettings:
    return ModelSettings.model_validate(preset("models", name))


def is_plain(model: ModelSettings) -> bool:
    return not (model.experts or model.latent or model.mamba or model.windows)


PLAIN = [name for name in preset_names("models") if is_plain(shipped(name))]


@pytest.mark.parametrize("name", sorted({*preset_names("models")} - {*PLAIN}))
def test_a_model_of_other_parts_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has .*kernel tables are read for plain and gated-delta-"):
        matrices(shipped(name))


@pytest.mark.parametrize("name", PLAIN)
def test_the_matrices_are_all_weights_of_the_layers_and_the_head(name: str) -> None:
    model = shipped(name)
    *layers, head = matrices(model)
    assert sum(one.n_out * one.k_in * one.copies for one in layers) == model.layer_params
    assert (head.n_out, head.k_in, head.copies) == (model.vocab_size, model.hidden_size, 1)


def test_matrices_of_the_hybrid_by_hand() -> None:
    found = Counter[tuple[int, int]]()
    for one in matrices(QWEN27):
        found[one.n_out, one.k_in] += one.copies
    assert found[34_816, 5120] == found[5120, 17_408] == 64
    # 24 heads of 256 with as many gates, 4 key and 4 value heads; 16 key and 48 value heads of 128.
    assert found[2 * 24 * 256 + 2 * 4 * 256, 5120] == 16
    assert found[2 * (16 + 48) * 128, 5120] == 48
    # 24 heads of 256 are as wide as 48 of 128.
    assert found[5120, 6144] == 16 + 48
    assert found[248_320, 5120] == 1


def test_coefficients_by_hand() -> None:
    values = step_values(TINY, RATES)
    layer = 3 * 1000 * 3000 + 1000 * 100 * (8 * 2 + 2 * 2)
    assert values["t_floor_s"] == pytest.approx(10 * layer * 2 / 4e12 + 50e6 * 2 / 2e12)
    # In each layer two norms move 4 x 1000 numbers and the MLP's activation 3 x 3000, two bytes each.
    moved = 10 * 2 * (2 * 4 * 1000 + 3 * 3000)
    attention = 10 * 100 * (2 * 2 * 8 + 2 * 2 * 2)
    products = 10 * 2 * layer / 1e15
    assert values["c_tok_s_per_token"] == pytest.approx(products + moved / 2e12 + attention / 1e12)
    assert values["a_pair_s"] == pytest.approx(4 * 10 * 8 * 100 / 5e14)
    assert values["c_kv_s_per_token"] == pytest.approx(10 * 2 * 2 * 100 * 2 / 1e12)
    assert values["c_seq_s"] == pytest.approx(2 * 50e6 / 1e15)
    assert values["c_pf_s"] == pytest.approx(10 * 20e-6)
    assert values["c_step_s"] == pytest.approx(41 * 5e-6 + 10 * 10e-6)
    assert values["smooth_max_p"] == 1e3
    assert elementwise_bytes_per_token(TINY) == moved


def test_the_law_of_the_coefficients_is_the_sum_of_the_kernels() -> None:
    """Limits in which every product is all arithmetic or all traffic."""
    law = StepLaw(StepCoefficients.model_validate(step_values(TINY, RATES)))
    parts = {name: sum(part.s for part in found) for name, found in step_parts(TINY, RATES).items()}
    assert law.step_s([], 1, 1000) == pytest.approx(
        parts["t_floor_s"] + parts["c_seq_s"] + parts["c_step_s"] + 1000 * parts["c_kv_s_per_token"]
    )
    tokens = 100_000
    attention = 10 * 4 * 8 * 100 * tokens**2 / 2 / 5e14
    assert law.step_s([(tokens, 0)], 0, 0) == pytest.approx(
        parts["c_tok_s_per_token"] * tokens
        + attention
        + parts["c_seq_s"]
        + parts["c_pf_s"]
        + parts["c_step_s"]
    )


def test_recurrent_layers_add_their_scan_and_their_states() -> None:
    gdn = {
        "gdn convolution": {"bytes_per_s": 2e12, "launch_s": 3e-6},
        "gdn scan": {
            "launch_s": 10e-6,
            "s_per_head": 50e-9,
            "alone_s_per_token": 40e-9,
            "full_s_per_token_and_head": 0.5e-9,
        },
        "gdn convolution update": {"launch_s": 2e-6, "s_per_channel": 4e-12},
        "gdn update": {"launch_s": 4e-6, "s_per_head": 30e-9},
    }
    parts = step_parts(QWEN27, RATES | gdn)
    found = {name: {part.what: part.s for part in addends} for name, addends in parts.items()}
    # 10,240 channels in and out at two bytes; 48 heads at 0.5 ns are less than a prompt alone.
    assert found["c_tok_s_per_token"]["gated delta nets"] == pytest.approx(48 * (10_240 * 4 / 2e12 + 40e-9))
    assert found["c_seq_s"]["recurrent states"] == pytest.approx(48 * (4e-12 * 10_240 + 48 * 30e-9))
    assert found["c_pf_s"]["launches of gated delta nets"] == pytest.approx(48 * (13e-6 + 48 * 50e-9))
    assert found["c_step_s"]["launches of their updates"] == pytest.approx(48 * 6e-6)
