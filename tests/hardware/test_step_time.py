"""The step-time law: by hand, bit by bit, and monotone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.settings import Settings
from sim.base.shipped import preset
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel
from sim.hardware.step_time import StepCoefficients, StepLaw, StepTime, roofline, smooth_max
from tests.hardware.step_law_contract import StepLawContract

PRIORS = StepCoefficients.model_validate(
    {
        "t_floor_s": "13.2ms",
        "c_tok_s_per_token": "49us",
        "a_pair_s": "750ps",
        "c_kv_s_per_token": "23.3ns",
        "c_seq_s": "0.12ms",
        "c_pf_s": "3.8ms",
    }
)
LAW = StepLaw(PRIORS)

laws = st.builds(
    lambda *values: StepLaw(
        StepCoefficients(**dict(zip(StepCoefficients.model_fields, values, strict=True)))
    ),
    st.floats(1e-4, 0.1),
    st.floats(1e-7, 1e-3),
    st.integers(1, 256),
    st.floats(1, 6),
    *[st.floats(0, 1e-8)] * 3,
    *[st.floats(0, 0.01)] * 3,
    st.floats(0, 0.1),
)


def test_one_step_by_hand() -> None:
    law = StepLaw(
        StepCoefficients(
            t_floor_s=3.0,
            c_tok_s_per_token=0.5,
            smooth_max_p=2,
            a_pair_s=0.25,
            c_kv_s_per_token=0.125,
            c_seq_s=10.0,
            c_pf_s=100.0,
            c_step_s=1000.0,
        )
    )
    # 8 tokens (4 + 2 + 2 decodes): sqrt(3^2 + 4^2); 4 sequences; contexts 40; pairs 4 x (10 + 2) + 2 x 1.
    expected = 5.0 + 4 * 10.0 + 1000.0 + 40 * 0.125 + 50 * 0.25 + 100.0
    assert law.step_s([(4, 10), (2, 0)], 2, 40) == pytest.approx(expected, rel=1e-15)
    # Decodes only: 2 tokens, no pairs, no prefill cost.
    assert law.step_s([], 2, 40) == pytest.approx((9 + 1) ** 0.5 + 20 + 1000 + 5, rel=1e-15)


def test_dense_layers_compute_whole_tiles() -> None:
    law = StepLaw(
        StepCoefficients(
            t_floor_s=0.0, c_tok_s_per_token=0.5, tile_tokens=128, a_pair_s=0.0, c_kv_s_per_token=0.0
        )
    )
    # 1 + 1 of 2 tiles, 120 + 8 of one, 120 + 9 of two.
    assert [law.step_s([(new, 0)], batch, 0) for new, batch in ((129, 1), (120, 8), (120, 9))] == [
        128,
        64,
        128,
    ]
    assert law.decode_s(3, 1000, 2).tolist() == [64.0, 64.0]


def test_no_step_is_shorter_than_the_launches_of_eager_mode_which_hide_what_the_gpu_computes() -> None:
    law = StepLaw(
        StepCoefficients(
            t_floor_s=3.0,
            c_tok_s_per_token=0.5,
            smooth_max_p=2,
            a_pair_s=0.0,
            c_kv_s_per_token=0.25,
            t_launch_s=7.0,
        )
    )
    # 8 tokens take sqrt(3^2 + 4^2) = 5 s, and 10 tokens of context 2.5 s.
    assert law.step_s([], 8, 8) == 7.0
    assert law.step_s([], 8, 10) == 7.5
    assert law.step_s([(7, 0)], 1, 4) == 7.0
    assert law.step_s([(7, 0)], 1, 12) == 8.0
    assert law.decode_s(8, 0, 3).tolist() == [7.0, 7.0, 9.0]
    assert law.step_s([], 0, 0) == 0.0


def test_decode_attention_may_cost_more_beside_prefill() -> None:
    law = StepLaw(
        StepCoefficients(
            t_floor_s=1.0,
            c_tok_s_per_token=0.0,
            a_pair_s=0.0,
            c_kv_s_per_token=0.25,
            c_mixed_s_per_token=0.125,
        )
    )
    assert law.step_s([], 2, 40) == 1 + 40 * 0.25
    assert law.step_s([(5, 0)], 2, 40) == 1 + 40 * 0.375


@pytest.mark.parametrize(("batch", "milliseconds"), [(1, 18), (2, 23), (4, 33), (6, 44), (8, 54)])
def test_decode_steps_at_213k(batch: int, milliseconds: float) -> None:
    """Figures worked out by hand from the priors: 13.2 ms and 5.0 + 0.12 ms a sequence."""
    assert LAW.step_s([], batch, 213_000 * batch) * 1e3 == pytest.approx(milliseconds, abs=0.6)


def test_a_cold_213k_prompt_takes_28_seconds() -> None:
    ends = [*range(8000, 212_800, 8000), 212_800, 213_000]
    total = sum(
        LAW.step_s([(end - start, start)], 0, 0) for start, end in zip([0, *ends], ends, strict=False)
    )
    assert total == pytest.approx(28, abs=0.7)
    assert LAW.step_s([(1000, 213_000)], 0, 0) == pytest.approx(0.22, abs=0.01)


def test_chunks_of_a_prompt_have_the_pairs_of_the_whole() -> None:
    only_pairs = StepLaw(StepCoefficients(t_floor_s=0, c_tok_s_per_token=0, a_pair_s=1.0, c_kv_s_per_token=0))
    whole = only_pairs.step_s([(3000, 500)], 0, 0)
    parts = only_pairs.step_s([(1000, 500)], 0, 0) + only_pairs.step_s([(2000, 1500)], 0, 0)
    assert whole == parts == 3000 * (500 + 1500)


class TestContract(StepLawContract):
    laws = laws


@given(x=st.floats(0, 1e3), y=st.floats(0, 1e3), p=st.floats(1, 50))
def test_smooth_max_lies_between_the_larger_and_the_sum(x: float, y: float, p: float) -> None:
    found = smooth_max(x, y, p)
    assert found == smooth_max(y, x, p)
    assert max(x, y) * (1 - 1e-12) <= found <= (x + y) * (1 + 1e-12)


def test_smooth_max_of_nothing_is_nothing() -> None:
    assert smooth_max(0.0, 0.0, 2.0) == 0.0
    assert smooth_max(3.0, 4.0, 2.0) == 5.0


def test_roofline_by_hand() -> None:
    model = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
    gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
    found = roofline(model, gpu)
    # 7.50B parameters of layers and head, two bytes each, at 0.88 x 3.35 TB/s.
    assert found.t_floor_s == pytest.approx(15.01e9 / (0.88 * 3.35e12), rel=1e-3)
    assert found.c_tok_s_per_token == pytest.approx(2 * 6.979e9 / (0.63 * 989e12), rel=1e-3)
    assert found.a_pair_s == pytest.approx(4 * 32 * 32 * 128 / (0.69 * 989e12), rel=1e-12)
    assert found.c_kv_s_per_token == pytest.approx(131_072 / (0.85 * 3.35e12), rel=1e-12)
    assert (found.c_seq_s, found.c_pf_s, found.c_step_s, found.smooth_max_p) == (0, 0, 0, 3.6)


def test_roofline_of_a_hybrid_fp8_model() -> None:
    model = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
    gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
    found = roofline(model, gpu)
    assert found.a_pair_s == pytest.approx(393_216 / (0.46 * 989e12), rel=1e-12)
    assert found.c_kv_s_per_token == pytest.approx(32_768 / (0.44 * 3.35e12), rel=1e-12)
    assert found.c_seq_s == pytest.approx(2 * 74.8125 * 2**20 / (0.88 * 3.35e12), rel=1e-12)
    assert found.c_tok_s_per_token == pytest.approx(48.654e9 / (0.6 * 1979e12), rel=1e-4)
    widened = roofline(model, gpu.model_copy(update={"fp8_flop_per_s": None}))
    assert widened.c_tok_s_per_token == pytest.approx(48.654e9 / (0.63 * 989e12), rel=1e-4)


def test_a_roofline_of_four_gpus() -> None:
    model = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
    gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
    one, four, sixteen = (roofline(model, gpu, Parallel(tensor=n)) for n in (1, 4, 16))
    assert four.t_floor_s == one.t_floor_s / 4
    assert four.a_pair_s == one.a_pair_s / 4
    assert four.c_kv_s_per_token == one.c_kv_s_per_token / 4
    # 8 KV heads: no GPU has less than one.
    assert sixteen.c_kv_s_per_token == one.c_kv_s_per_token / 8
    # Two all-reduces in each of 32 layers, of 4,096 numbers of 2 bytes a token.
    assert four.c_step_s == 64 * 4.5e-6
    assert four.c_tok_s_per_token == pytest.approx(one.c_tok_s_per_token / 4 + 64 * 8192 / 112e9, rel=1e-12)
    assert roofline(model, gpu, Parallel(pipeline=4)) == roofline(model, gpu, Parallel(data=4)) == one


def test_every_gpu_reads_the_whole_latent_cache_and_its_share_of_the_experts() -> None:
    model = ModelSettings.model_validate(preset("models", "deepseek-v3"))
    gpu = GpuSettings.model_validate(preset("gpus", "h200-141gb"))
    one, tensor, data = (roofline(model, gpu, p) for p in (Parallel(), Parallel(tensor=8), Parallel(data=8)))
    assert tensor.c_kv_s_per_token == data.c_kv_s_per_token == one.c_kv_s_per_token
    # 256 experts of three matrices of 7,168 x 2,048 in 58 layers, a byte each and a scale of
    # 4 bytes for 128 x 128; a rank reads an eighth.
    experts = 256 * 3 * 7168 * 2048 * 58 * (1 + 4 / 128**2)
    weights = model.step_weights_bytes
    assert data.t_floor_s / one.t_floor_s == pytest.approx((weights - experts * 7 / 8) / weights, rel=1e-12)
    assert tensor.t_floor_s == one.t_floor_s / 8
    assert data.c_tok_s_per_token == one.c_tok_s_per_token


def test_coefficients_stand_in_a_scenario_and_a_law_is_any_object_with_both_methods() -> None:
    class Scenario(Settings):
        step: StepCoefficients = PRIORS

    assert Scenario.model_validate_json(Scenario().model_dump_json()).step == PRIORS
    law: StepTime = StepLaw(Scenario().step)
    assert law.step_s([], 1, 0) == pytest.approx(13.32e-3, abs=2e-6)
