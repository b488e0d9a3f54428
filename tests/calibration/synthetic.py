"""Tables of kernel times that follow known rates, each row worked out here and not by the code under test."""

from collections.abc import Callable, Iterator
from pathlib import Path

GEMM = "vllm_version,kernel,gemm_dtype,m_tokens,n_out,k_in,latency_us"
PREFILL = "vllm_version,kernel,kv_dtype,batch,seq_len,q_heads,kv_heads,head_dim,latency_us"
DECODE = "vllm_version,kernel,kv_dtype,batch,context_len,q_heads,kv_heads,head_dim,latency_us"
GDN = "vllm_version,kernel,phase,batch,seq_len,k_heads,v_heads,latency_us"

MATRICES = [(n, k) for n in (512, 1024, 6144, 16384) for k in (512, 2048, 8192)]
HEADS = [(8, 1), (8, 2), (16, 4), (24, 4), (32, 8), (64, 8)]
GDN_HEADS = [(2, 6), (4, 12), (8, 24), (16, 32), (16, 48)]

Factor = Callable[[int], float]
"""How many times as long as by the law the rows of a shape take, by the shape's number."""


def by_the_law(_: int) -> float:
    """Every shape follows the law."""
    return 1.0


def gemm_rows(
    dtype: str = "fp8_block", version: str = "0.25.0", factor: Factor = by_the_law
) -> Iterator[str]:
    """800 TFLOP/s, 2.5 TB/s, launch 5 us, p = 2; weights and activations of one byte, or two for bfloat16."""
    width = 1 if dtype == "fp8_block" else 2
    for shape, (n, k) in enumerate(MATRICES):
        for m in (1, 16, 64, 256, 1024, 4096, 16384):
            work, traffic = 2 * m * n * k / 800e12, (width * k * (n + m) + 2 * m * n) / 2.5e12
            time_us = 1e6 * (5e-6 + (work**2 + traffic**2) ** 0.5) * factor(shape)
            yield f"{version},linear,{dtype},{m},{n},{k},{time_us!r}"


def prefill_rows(kv: str = "fp8", head_dim: int = 128, factor: Factor = by_the_law) -> Iterator[str]:
    """500 TFLOP/s, 1.25 TB/s, launch 20 us."""
    width = 1 if kv == "fp8" else 2
    for shape, (q, heads) in enumerate(HEADS):
        for batch in (1, 4):
            for length in (64, 1024, 2048, 8192, 16384):
                work = 2 * batch * q * head_dim * length**2 / 500e12
                traffic = batch * length * head_dim * (4 * q + 2 * width * heads) / 1.25e12
                # What is short follows no law and must not count.
                time_us = 99.0 if length == 64 else 1e6 * (20e-6 + work + traffic) * factor(shape)
                yield f"0.25.0,fa3,{kv},{batch},{length},{q},{heads},{head_dim},{time_us!r}"


def decode_rows(kv: str = "fp8", head_dim: int = 128, factor: Factor = by_the_law) -> Iterator[str]:
    """2 TB/s, launch 10 us."""
    width = 1 if kv == "fp8" else 2
    for shape, (q, heads) in enumerate(HEADS):
        for batch in (1, 8, 64):
            for context in (7, 1023, 8191, 32767):
                traffic = 2 * batch * context * heads * head_dim * width / 2e12
                time_us = 99.0 if context == 7 else 1e6 * (10e-6 + traffic) * factor(shape)
                yield f"0.25.0,fa3,{kv},{batch},{context},{q},{heads},{head_dim},{time_us!r}"


def gdn_rows() -> Iterator[str]:
    """Convolution 2 TB/s and 3 us; scan 10 us, 50 ns a head, 40 ns a token alone or 0.5 ns a token and head.

    Updates: 2 us and 4 ps a channel; 4 us and 30 ns a head.
    """
    for keys, values in GDN_HEADS:
        channels = 128 * (2 * keys + values)
        for batch in (1, 2, 8, 32):
            for length in (256, 2048, 16384):
                convolution = 3 + batch * length * channels * 4 / 2e12 * 1e6
                heads = batch * values
                scan = 10 + 0.05 * heads + max(0.04 * length, 0.0005 * length * heads)
                yield f"0.25.0,causal_conv1d_fn,context,{batch},{length},{keys},{values},{convolution!r}"
                yield f"0.25.0,chunk_gated_delta_rule,context,{batch},{length},{keys},{values},{scan!r}"
            update, recurrence = 2 + 4e-6 * batch * channels, 4 + 0.03 * batch * values
            yield f"0.25.0,causal_conv1d_update,generation,{batch},1,{keys},{values},{update!r}"
            yield f"0.25.0,recurrent_gated_delta_rule,generation,{batch},1,{keys},{values},{recurrence!r}"


def write(path: Path, header: str, *parts: Iterator[str]) -> Path:
    """Write a table."""
    path.write_text("\n".join([header, *(row for part in parts for row in part)]) + "\n")
    return path


def write_tables(folder: Path, kv: str = "fp8", head_dim: int = 128) -> list[Path]:
    """Write one table of each kind; matrices in both formats."""
    return [
        write(folder / "gemm.csv", GEMM, gemm_rows(), gemm_rows("bfloat16")),
        write(folder / "prefill.csv", PREFILL, prefill_rows(kv, head_dim)),
        write(folder / "decode.csv", DECODE, decode_rows(kv, head_dim)),
        write(folder / "gdn.csv", GDN, gdn_rows()),
    ]
