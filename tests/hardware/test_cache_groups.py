"""The cache groups of vLLM 0.28.0: layers of a group, tokens and bytes of a block, by its own arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.hardware.cache_groups import cache_groups, cache_layout
from sim.hardware.parallel import Parallel
from sim.kv.group_spec import GroupSpec
from tests.hardware.models import shipped, toy

GEMMA_31B = {"full_attention_layers": 10, "attention_heads": 32, "kv_heads": 4, "head_dim": 512}
GEMMA_31B_WINDOWS = {"layers": 50, "tokens": 1024, "kv_heads": 16, "head_dim": 256}


def windowed(
    layers: int, full: int, kv_heads: int = 8, head_dim: int = 128, **windows: object
) -> list[object]:
    model = toy(
        full_attention_layers=full,
        attention_heads=kv_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        windows={"layers": layers, "tokens": 1024, **windows},
    )
    layout = cache_layout(model)
    return [[group.layers for group in layout.groups], layout.block_bytes]


def test_a_plain_model_has_one_group() -> None:
    layout = cache_layout(shipped("qwen3-14b-bf16"), 64)
    assert layout.specs == (GroupSpec("full", 64),)
    assert layout.groups[0].layers == 40
    assert layout.block_bytes == 64 * 160 * 1024


def test_a_hybrid_model_has_its_states_first() -> None:
    layout = cache_layout(shipped("qwen3.8-27b-fp8"))
    assert layout.specs == (*[GroupSpec("recurrent", 800)] * 3, GroupSpec("full", 800))
    assert [group.layers for group in layout.groups] == [16] * 4
    assert layout.block_bytes == 25 * 2**20


def test_gpt_oss_has_a_group_of_each_kind() -> None:
    layout = cache_layout(shipped("gpt-oss-20b"))
    assert layout.specs == (GroupSpec("sliding_window", 16, 128), GroupSpec("full", 16))
    assert [group.layers for group in layout.groups] == [12, 12]
    assert layout.block_bytes == 393_216
    assert cache_layout(shipped("gpt-oss-120b")).block_bytes == 589_824


def test_one_more_layer_pads_the_smaller_bucket() -> None:
    layout = cache_layout(shipped("gpt-oss-120b", mtp_layers=1))
    assert [group.layers for group in layout.groups] == [18, 19]
    assert layout.block_bytes == 622_592


@pytest.mark.parametrize(
    ("windows", "full", "kv_heads", "head_dim", "layers", "block_bytes"),
    [
        (52, 10, 16, 128, [9, 9, 9, 9, 8, 8, 10], 1_310_720),  # Gemma-3-27b
        (40, 8, 8, 256, [8, 8, 8, 8, 8, 8], 1_048_576),  # 12b
        (29, 5, 4, 256, [5, 5, 5, 5, 5, 4, 5], 327_680),  # 4b
        (22, 4, 1, 256, [4, 4, 4, 4, 3, 3, 4], 65_536),  # 1b
    ],
)
def test_windows_are_dealt_into_groups_of_the_smallest_bucket(
    *, windows: int, full: int, kv_heads: int, head_dim: int, layers: list[int], block_bytes: int
) -> None:
    assert windowed(windows, full, kv_heads, head_dim) == [layers, block_bytes]


def test_a_smaller_page_gets_more_tokens() -> None:
    layout = cache_layout(toy(**GEMMA_31B, windows=GEMMA_31B_WINDOWS))
    assert layout.specs == (*[GroupSpec("sliding_window", 16, 1024)] * 5, GroupSpec("full", 32))
    assert layout.block_bytes == 2_621_440
    assert layout.block_tokens == 32
    small = {"layers": 15, "tokens": 512, "kv_heads": 4, "head_dim": 256}
    other = cache_layout(toy(**GEMMA_31B | {"full_attention_layers": 3}, windows=small))
    assert other.specs == (*[GroupSpec("sliding_window", 32, 512)] * 5, GroupSpec("full", 16))
    assert other.block_bytes == 393_216


def test_chunked_attention_is_a_kind_of_its_own() -> None:
    chunks = {"layers": 36, "tokens": 8192, "kind": "chunked_local"}
    scout = toy(full_attention_layers=12, attention_heads=40, kv_heads=8, head_dim=128, windows=chunks)
    assert cache_groups(scout) == (*[GroupSpec("chunked_local", 16, 8192)] * 3, GroupSpec("full", 16))
    assert cache_layout(scout).block_bytes == 786_432


def test_a_model_of_windows_alone_has_one_group() -> None:
    mistral = toy(
        full_attention_layers=0,
        attention_heads=32,
        kv_heads=8,
        head_dim=128,
        windows={"layers": 32, "tokens": 4096},
    )
    assert cache_groups(mistral) == (GroupSpec("sliding_window", 16, 4096),)
    assert cache_layout(mistral).block_bytes == 2_097_152
    assert (mistral.block_tokens(), mistral.kv_bytes_per_token) == (16, 0)


def test_the_first_layer_decides_the_first_group() -> None:
    model = toy(full_attention_layers=2, windows={"layers": 4, "tokens": 64}, layer_pattern="FWW")
    assert [spec.kind for spec in cache_groups(model)] == ["full", "sliding_window", "sliding_window"]


def test_a_latent_cache_is_one_vector_whatever_the_heads() -> None:
    deepseek = shipped("deepseek-v3")
    assert deepseek.kv_bytes_per_token == (512 + 64) * 2 * 61
    assert cache_layout(deepseek, 16, Parallel(8)).block_bytes == cache_layout(deepseek).block_bytes


def test_pages_that_cannot_be_made_equal_are_refused() -> None:
    windows = {"layers": 4, "tokens": 64, "kv_heads": 3, "head_dim": 4}
    model = toy(attention_heads=6, windows=windows)
    with pytest.raises(InputError, match="toy: page size is not divisible by the maximum page size and"):
        cache_layout(model)


def test_tensor_parallel_heads_make_smaller_pages_and_other_blocks() -> None:
    qwen = shipped("qwen3.8-27b-fp8")
    two = cache_layout(qwen, 16, Parallel(2))
    # Half the state, 817,152 bytes, in pages of half the heads: as many tokens.
    assert two.specs == cache_groups(qwen)
    assert two.block_bytes == 25 * 2**20 // 2
    eight = cache_layout(qwen, 16, Parallel(8))
    # 4 KV heads over 8 GPUs: one each, 512 bytes a token; the state is an eighth, 204,288 bytes: 400 tokens.
    assert eight.block_tokens == 400
    assert eight.block_bytes == 400 * 512 * 16


def test_a_stage_has_the_pages_of_its_own_layers() -> None:
    layout = cache_layout(shipped("deepseek-v3"), 16, Parallel(pipeline=4))
    assert layout.pages == (15, 15, 16, 15)
    assert layout.block_bytes == 16 * 16 * 1152
    assert layout.bytes_on(0) == 15 * 16 * 1152


@given(
    full=st.integers(1, 20),
    others=st.integers(1, 100),
    pipeline=st.integers(1, 8),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    tensor=st.sampled_from([1, 2, 4, 8]),
)
def test_every_layer_is_in_one_group_and_every_group_fits_a_block(
    *, full: int, others: int, pipeline: int, kv_heads: int, tensor: int
) -> None:
    if full >= 1.5 * others:
        return
    model = toy(
        full_attention_layers=full,
        attention_heads=8,
        kv_heads=kv_heads,
        windows={"layers": others, "tokens": 100},
    )
    layout = cache_layout(model, 16, Parallel(tensor, min(pipeline, full + others)))
    assert sum(group.layers for group in layout.groups) == full + others
    assert max(group.layers for group in layout.groups) <= sum(layout.pages)
    assert sum(spec.kind == "full" for spec in layout.specs) == 1
    assert layout.page_bytes == 16 * 2 * max(kv_heads // tensor, 1) * 4 * 2
