"""The talk's memory arithmetic, and vLLM 0.28.0's counts of blocks and sessions."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sim.base.errors import InputError
from sim.base.shipped import preset
from sim.hardware.capacity import capacity, cpu_blocks
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.session_blocks import session_blocks
from sim.show.text.capacity import lines, render

GIB = 2**30
QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
QWEN14 = ModelSettings.model_validate(preset("models", "qwen3-14b-bf16"))
H100 = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
TALK = capacity(QWEN27, H100, offload_bytes=(64 * GIB, 256 * GIB))


def test_the_talks_pool() -> None:
    assert round(TALK.usable_bytes / GIB, 2) == 72.88
    assert round(TALK.runtime_bytes / GIB, 2) == 4.07
    assert round(TALK.pool_bytes / GIB, 2) == 39.93
    assert TALK.num_blocks == 1635
    assert TALK.block_tokens == 800
    assert TALK.block_bytes == 25 * 2**20
    assert TALK.pool_tokens == 1_308_000


def test_the_engines_maximum_concurrency() -> None:
    assert round(TALK.max_concurrency, 3) == 4.895
    assert int(TALK.max_concurrency * 262_144) == 1_283_249


def test_blocks_of_a_213k_session() -> None:
    session = TALK.session
    assert session.tokens == 213_000
    assert session.grown == 267 + 3
    assert session.cold == 266 + 27 * 3 == 347
    assert session.cold_prefill_sync == 273
    assert session.cold_prefill_async == 351
    assert session.cold_decode_async == 348


def test_how_many_213k_sessions_fit() -> None:
    assert (TALK.idle.grown_sessions, TALK.idle.cold_sessions) == (6, 4)
    assert (TALK.running_cold_sync, TALK.running_cold_async) == (6, 4)
    small, large = TALK.host
    assert (small.blocks, small.grown_sessions, small.cold_sessions) == (2621, 9, 7)
    assert (large.blocks, large.grown_sessions, large.cold_sessions) == (10_485, 38, 30)


def test_lines_show_the_talks_figures() -> None:
    shown = {line.label.strip(): line.value for line in lines(TALK)}
    expected = {
        "weights as computed": "28.3 GiB",
        "weights as loaded": "28.88 GiB",
        "usable memory": "72.88 GiB",
        "runtime": "4.07 GiB",
        "KV pool": "39.93 GiB",
        "KV cache of a token": "32 KiB",
        "state of a sequence": "74.8 MiB",
        "block": "800 tokens",
        "KV blocks": "1,635",
        "maximum concurrency": "4.895x",
        "session of 213,000 tokens": "6.6 GiB",
        "kept in GPU, grown": "6",
        "kept in GPU, cold": "4",
        "kept in 64 GiB of host, cold": "7",
        "kept in 256 GiB of host, grown": "38",
    }
    assert expected.items() <= shown.items()
    arithmetic = {line.label: line.arithmetic for line in lines(TALK)}
    assert arithmetic["KV pool"] == "72.88 - 28.88 - 4.07"
    assert arithmetic["usable memory"] == "79.22 GiB x 0.92"


def test_every_line_is_printed() -> None:
    console = Console(file=io.StringIO(), width=120)
    render(TALK, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "qwen3.8-27b-fp8 on h100-80gb" in text
    for line in lines(TALK):
        assert line.value in text
        assert line.arithmetic in text


def test_a_plain_model_keeps_no_states() -> None:
    result = capacity(QWEN14, H100)
    assert result.block_tokens == 16
    # 79.22 x 0.92 - 27.51 - 4.07 GiB in blocks of 2.5 MiB.
    assert result.num_blocks == 16_918
    assert result.session.tokens == 40_960
    assert result.session.cold == result.session.grown == 2560
    assert result.idle.grown_sessions == 16_917 // 2560
    assert result.max_concurrency == 16_918 / 2560
    labels = [line.label.strip() for line in lines(result)]
    assert "kept in GPU" in labels
    assert "state of a sequence" not in labels
    assert {line.label: line.arithmetic for line in lines(result)}["weights as loaded"] == (
        "not known: as computed"
    )


def test_blocks_can_be_given() -> None:
    given_blocks = capacity(QWEN27, H100, kv_blocks=1000)
    assert given_blocks.num_blocks == 1000
    assert given_blocks.pool_bytes == 1000 * 25 * 2**20
    assert given_blocks.idle.grown_sessions == 999 // 270
    values = {line.label: line for line in lines(given_blocks)}
    assert values["KV blocks"].arithmetic == "given"
    assert values["KV pool"].arithmetic == "1,000 blocks, given"


@pytest.mark.parametrize(("kv_blocks", "cold", "grown"), [(347, 0, 1), (348, 1, 1), (271, 0, 1), (270, 0, 0)])
def test_the_null_block_holds_no_session(kv_blocks: int, cold: int, grown: int) -> None:
    result = capacity(QWEN27, H100, kv_blocks=kv_blocks)
    assert (result.idle.cold_sessions, result.idle.grown_sessions) == (cold, grown)


@pytest.mark.parametrize(("kv_blocks", "at_once"), [(351, 0), (352, 1), (352 + 347, 1), (352 + 348, 2)])
def test_sessions_at_once_are_one_in_prefill_and_the_rest_in_decode(kv_blocks: int, at_once: int) -> None:
    assert capacity(QWEN27, H100, kv_blocks=kv_blocks).running_cold_async == at_once


def test_capacity_is_counted_in_blocks_not_in_bytes_a_token() -> None:
    """A known fault elsewhere: free bytes multiplied again by the bytes of a token. 10 GiB by hand here."""
    gpu = H100.model_copy(update={"memory_bytes": 10 * GIB, "cuda_context_bytes": 0})
    changes = {"weights_loaded_bytes": 5 * GIB, "peak_activation_bytes": 0, "cuda_graphs_bytes": 0}
    result = capacity(QWEN14.model_copy(update=changes), gpu, gpu_memory_utilization=1.0)
    assert result.num_blocks == 5 * GIB // (16 * 163_840) == 2048
    assert result.pool_tokens == 2048 * 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kv_blocks": 1}, "kv_blocks = 1: a pool has 2 blocks or more"),
        ({"gpu_memory_utilization": 1.2}, "gpu_memory_utilization = 1.2: must be above 0 and at most 1"),
        ({"gpu_memory_utilization": 0}, "gpu_memory_utilization = 0"),
        ({"session_tokens": 799}, "session_tokens = 799: a session shorter than a block, here 800 tokens"),
    ],
)
def test_arguments_out_of_range(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        capacity(QWEN27, H100, **arguments)  # type: ignore[arg-type]


def test_a_model_that_does_not_fit_is_told_by_how_much() -> None:
    gpu = H100.model_copy(update={"name": "half-h100", "memory_bytes": 32 * GIB})
    # 32 x 0.92 = 29.44 usable; 28.88 + 4.07 + two blocks of 25 MiB are 3.56 GiB more.
    with pytest.raises(InputError) as caught:
        capacity(QWEN27, gpu)
    message = str(caught.value)
    assert "qwen3.8-27b-fp8 does not fit on half-h100" in message
    assert "need 3.56 GiB more than the 29.44 GiB usable" in message
    assert "gpu_memory_utilization" in message
    assert capacity(QWEN27, gpu, kv_blocks=40).num_blocks == 40


def test_host_blocks_are_rounded_up_to_pages() -> None:
    assert cpu_blocks(100_000, 4096) == 24
    assert cpu_blocks(100_000, 4097) == 12


@given(tokens=st.integers(800, 2_000_000), budget=st.integers(100, 32_768), groups=st.integers(1, 5))
def test_sessions_hold_at_least_their_tokens_and_more_in_order(tokens: int, budget: int, groups: int) -> None:
    session = session_blocks(tokens, 800, groups, budget)
    assert session.grown == -(-tokens // 800) + groups
    assert session.cold >= tokens // 800 + groups
    assert session.grown <= session.cold_decode_async <= session.cold_prefill_async
    assert session.cold_prefill_sync <= session.cold_prefill_async
    # A checkpoint every budget's worth of blocks, and never one without a block of tokens before it.
    assert session.cold <= tokens // 800 * (1 + groups)


@given(tokens=st.integers(16, 500_000), budget=st.integers(100, 32_768))
def test_a_plain_session_is_its_tokens(tokens: int, budget: int) -> None:
    session = session_blocks(tokens, 16, 0, budget)
    assert session.cold == session.grown == session.cold_prefill_async == -(-tokens // 16)


@pytest.mark.parametrize(
    ("gpu", "kv_blocks"), [(H100, 10**9), (H100.model_copy(update={"memory_bytes": 10**30}), None)]
)
def test_more_blocks_than_any_gpu_has_are_a_slip(gpu: GpuSettings, kv_blocks: int | None) -> None:
    with pytest.raises(InputError, match=r"at most 10,000,000; check gpu.memory_bytes and engine.kv_blocks"):
        capacity(QWEN27, gpu, kv_blocks=kv_blocks)
