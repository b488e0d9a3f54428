"""What each GPU of an engine holds, and which parallel sizes are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.sharding import GpuShare, Sharded, check_parallel, sharded
from tests.hardware.models import gpu, shipped, toy

GIB = 2**30
H100 = gpu("h100-80gb")
EXPERTS = {"routed": 8, "per_token": 2, "intermediate_size": 12, "shared_intermediate_size": 4}


def largest(engine: Sharded) -> GpuShare:
    """The GPU with most weights."""
    return max(engine.shares, key=lambda share: share.weights_bytes)


def params(model_name: str, parallel: Parallel, stage: int = 0) -> dict[str, int]:
    share = sharded(shipped(model_name), parallel).shares[stage]
    return {part.label: part.params for part in share.weight_parts}


def test_one_gpu_holds_all() -> None:
    for name in ("qwen3.8-27b-fp8", "qwen3-14b-bf16", "tiny-llama-bf16", "deepseek-v3"):
        model = shipped(name)
        engine = sharded(model, ONE_GPU)
        (share,) = engine.shares
        assert list(share.weight_parts) == model.weight_parts()
        assert share.weights_bytes == model.weights_bytes
        assert share.kv_bytes_per_token == model.kv_bytes_per_token
        assert share.state_bytes_per_sequence == model.state_bytes_per_sequence
        assert engine.layout.block_bytes == model.block_bytes()


def test_two_gpus_of_a_plain_model_by_hand() -> None:
    found = params("qwen3-14b-bf16", Parallel(2))
    assert found == {
        "MLP": 3 * 5120 * 8704 * 40,
        "full attention": 5120 * 128 * (20 * 2 + 4 * 2) * 40,
        "embedding and head": 2 * 75_968 * 5120,
    }


def test_fewer_kv_heads_than_gpus_are_copied() -> None:
    engine = sharded(shipped("qwen3-30b-a3b-bf16"), Parallel(8))
    # 4 KV heads over 8 GPUs: one on each, key and value of 128 numbers of 2 bytes in 48 layers.
    assert largest(engine).kv_bytes_per_token == 2 * 128 * 2 * 48
    assert "8 x 2 + 1 x 2" not in largest(engine).weight_parts[0].formula
    attention = next(part for part in largest(engine).weight_parts if part.label == "full attention")
    assert attention.params == 2048 * 128 * (4 * 2 + 1 * 2) * 48


def test_rows_of_the_vocabulary_are_padded_before_they_are_divided() -> None:
    engine = sharded(toy(vocab_size=100), Parallel(2))
    # 100 rows become 128, 64 on each GPU.
    assert largest(engine).weight_parts[-1].params == 2 * 64 * 8


def test_experts_are_cut_or_dealt() -> None:
    model = toy(experts=EXPERTS)
    cut = {part.label: part.params for part in largest(sharded(model, Parallel(2, 1, 2))).weight_parts}
    dealt = {
        part.label: part.params
        for part in largest(sharded(model, Parallel(2, 1, 2, expert=True))).weight_parts
    }
    assert cut["experts"] == 8 * 3 * 8 * 3 * 2  # a quarter of 12 columns
    assert dealt["experts"] == 2 * 3 * 8 * 12 * 2  # two of eight
    for found in (cut, dealt):
        assert found["shared experts"] == 3 * 8 * 2 * 2  # over the tensor-parallel GPUs alone
        assert found["router"] == 8 * 8 * 2  # whole on each


def test_latent_matrices_are_whole_but_for_the_heads() -> None:
    found = params("deepseek-v3", Parallel(8))
    heads = 16
    each = 1536 * 7168 + 1536 * heads * 192 + 7168 * 576 + 512 * heads * 256 + heads * 128 * 7168
    assert found["latent attention"] == each * 61
    assert found["latent attention, for decoding"] == 512 * heads * 256 * 61


def test_a_pipeline_has_embedding_and_head_at_its_ends() -> None:
    shares = sharded(shipped("llama-3.1-70b-bf16"), Parallel(1, 4)).shares
    assert [share.weight_parts[-1].label for share in shares] == [
        "embedding",
        "full attention",
        "full attention",
        "head",
    ]
    assert [share.layers for share in shares] == [20] * 4
    assert [share.kv_layers for share in shares] == [20] * 4
    whole = shipped("llama-3.1-70b-bf16")
    assert sum(share.weights_bytes for share in shares) == whole.weights_bytes
    tied = sharded(toy(tied_embeddings=True), Parallel(1, 2)).shares
    assert [
        part.params for share in tied for part in share.weight_parts if part.label in ("embedding", "head")
    ] == [
        800,
        800,
    ]


def test_recurrent_states_are_divided() -> None:
    engine = sharded(shipped("qwen3.8-27b-fp8"), Parallel(4))
    assert largest(engine).state_bytes_per_sequence == 1_634_304 // 4 * 48


def test_weights_as_loaded_are_divided_as_computed_ones() -> None:
    model = shipped("qwen3.8-27b-fp8")
    share = largest(sharded(model, Parallel(2)))
    more = model.weights_bytes / model.weights_computed_bytes
    assert share.weights_bytes == pytest.approx(share.weights_computed_bytes * more, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "parallel", "message"),
    [
        (
            "qwen3-14b-bf16",
            Parallel(3),
            r"Total number of attention heads \(40\) must be divisible by tensor parallel size \(3\); give "
            "one of 1, 2, 4, 8",
        ),
        (
            "qwen3-8b-bf16",
            Parallel(2, expert=True),
            "Number of experts in the model must be greater than 0 when expert parallelism is enabled; leave",
        ),
        ("qwen3-8b-bf16", Parallel(16), "tensor_parallel = 16: a node has 8 GPUs .*; use pipeline_parallel"),
        ("qwen3-8b-bf16", Parallel(1, 37), "pipeline_parallel = 37: qwen3-8b-bf16 has 36 layers"),
        ("qwen3-8b-bf16", Parallel(0), "tensor_parallel = 0: must be 1 or more"),
        ("qwen3-8b-bf16", Parallel(1, 1, 0), "data_parallel = 0: must be 1 or more"),
        (
            "qwen3-235b-a22b-fp8",
            Parallel(8),
            "The output_size of gate's and up's weight = 192 is not divisible by weight quantization "
            r"block_n = 128 .*; give less, or use expert_parallel",
        ),
        (
            "deepseek-v3",
            Parallel(8, 1, 3),
            r"experts.intermediate_size: 2048 is not divisible by 24, tensor x data",
        ),
        ("deepseek-v3", Parallel(8, 1, 64, expert=True), "256 experts over 512 GPUs: some would have none"),
        ("gpt-oss-20b", Parallel(5), r"Total number of attention heads \(64\) must be"),
    ],
)
def test_what_vllm_refuses_is_refused(name: str, parallel: Parallel, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_parallel(shipped(name), H100, parallel)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "tensor", "message"),
    [
        ({"attention_heads": 12, "kv_heads": 6}, 4, "kv_heads = 6 can neither be divided nor copied evenly"),
        ({"intermediate_size": 18}, 4, "intermediate_size: 18 is not divisible by 4; give one of 1, 2"),
        (
            {"weights_dtype": "fp8_block", "intermediate_size": 256},
            4,
            "Weight output_partition_size = 64 is not divisible by weight quantization block_n = 128",
        ),
        (
            {
                "linear_attention_layers": 4,
                **{"linear_key_heads": 2, "linear_key_head_dim": 8},
                **{"linear_value_heads": 6, "linear_value_head_dim": 8},
            },
            4,
            "linear_key_heads: 2 is not divisible by 4",
        ),
        (
            {"mamba": {"layers": 4, "heads": 8, "head_dim": 4, "state_size": 8, "groups": 2}},
            4,
            "If tensor parallel world size does not divide num_groups, then num_groups must equal 1; mamba.g",
        ),
        (
            {"experts": EXPERTS | {"routed": 3}},
            4,
            "Tensor parallel size 4 is greater than the number of experts 3",
        ),
    ],
)
def test_parts_that_cannot_be_divided_are_refused(
    changes: dict[str, object], tensor: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_parallel(toy(**changes), H100, Parallel(tensor))


@given(
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.integers(1, 4),
    data=st.sampled_from([1, 2, 4]),
    expert=st.booleans(),
    name=st.sampled_from(["qwen3-30b-a3b-bf16", "gpt-oss-120b", "llama-3.1-70b-fp8", "qwen3.5-27b-bf16"]),
)
def test_gpus_together_hold_at_least_the_model_and_each_no_more(
    *, tensor: int, pipeline: int, data: int, expert: bool, name: str
) -> None:
    model, parallel = shipped(name), Parallel(tensor, pipeline, data, expert)
    try:
        check_parallel(model, H100, parallel)
    except InputError:
        return
    engine = sharded(model, parallel)
    assert largest(engine).weights_bytes <= model.weights_bytes
    together = sum(share.weights_bytes for share in engine.shares) * tensor * data
    assert together >= model.weights_bytes * (1 - 1e-12)
    assert sum(share.layers for share in engine.shares) == model.layers
    assert sum(share.kv_bytes_per_token for share in engine.shares) * tensor >= model.kv_bytes_per_token
