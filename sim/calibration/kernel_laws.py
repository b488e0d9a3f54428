"""How long a kernel takes, by its shape: laws with a few rates that tables of kernel times are fitted by.

Times are in s, work in floating-point operations, traffic in bytes, rates in either a second.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.hardware.model import DTYPE_BYTES

Floats = NDArray[np.float64]
Sizes = Mapping[str, Floats]
"""Columns of a table."""
Rates = Mapping[str, float]
Number = TypeVar("Number", float, Floats)

GDN_HEAD_DIM = 128
"""Width of the heads of all gated delta nets in the tables."""


@dataclass(frozen=True, slots=True)
class KernelLaw:
    """A law: names of its rates with where a fit starts, and the time of rows."""

    start: Rates
    time_s: Callable[[Rates, Sizes], Floats]


def matrix_product(weight_bytes: int) -> KernelLaw:
    """Return the law of an (m, k) by (k, n) product: launch, then arithmetic or traffic, whichever is longer.

    Args:
        weight_bytes: of one number of the weights, and of the activations that come in.

    """

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        m, n, k = sizes["m_tokens"], sizes["n_out"], sizes["k_in"]
        traffic = weight_bytes * k * (n + m) + DTYPE_BYTES["bf16"] * m * n
        work_s, traffic_s = 2 * m * n * k / rates["flop_per_s"], traffic / rates["bytes_per_s"]
        return rates["launch_s"] + soft_max(work_s, traffic_s, rates["p"])

    return KernelLaw({"flop_per_s": 1e15, "bytes_per_s": 2.5e12, "launch_s": 5e-6, "p": 2.0}, time_s)


def prefill_attention(kv_bytes: int) -> KernelLaw:
    """Return the law of causal attention of whole prompts: launch, plus arithmetic, plus traffic."""

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        tokens = sizes["batch"] * sizes["seq_len"]
        work = 4 * sizes["q_heads"] * sizes["head_dim"] * tokens * sizes["seq_len"] / 2
        per_token = attention_traffic(sizes["q_heads"], sizes["kv_heads"], sizes["head_dim"], kv_bytes)
        return rates["launch_s"] + work / rates["flop_per_s"] + tokens * per_token / rates["bytes_per_s"]

    return KernelLaw({"flop_per_s": 6e14, "bytes_per_s": 1.5e12, "launch_s": 20e-6}, time_s)


def decode_attention(kv_bytes: int) -> KernelLaw:
    """Return the law of attention of one token for each sequence: launch, plus reading the cache."""

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        tokens = sizes["batch"] * sizes["context_len"]
        traffic = tokens * 2 * sizes["kv_heads"] * sizes["head_dim"] * kv_bytes
        return rates["launch_s"] + traffic / rates["bytes_per_s"]

    return KernelLaw({"bytes_per_s": 2e12, "launch_s": 15e-6}, time_s)


def gdn_convolution() -> KernelLaw:
    """Return the law of the convolution over prompts in front of a gated delta net: launch, plus traffic."""

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        tokens = sizes["batch"] * sizes["seq_len"]
        traffic = tokens * _channels(sizes) * 2 * DTYPE_BYTES["bf16"]
        return rates["launch_s"] + traffic / rates["bytes_per_s"]

    return KernelLaw({"bytes_per_s": 2e12, "launch_s": 3e-6}, time_s)


def gdn_scan() -> KernelLaw:
    """Return the law of the chunked scan over prompts.

    Launch, states of all heads, then the longest prompt one chunk after another, or all heads of all prompts
    if that is more than the GPU does at once.
    """

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        heads = sizes["batch"] * sizes["v_heads"]
        alone_s = rates["alone_s_per_token"] * sizes["seq_len"]
        full_s = rates["full_s_per_token_and_head"] * sizes["seq_len"] * heads
        return rates["launch_s"] + rates["s_per_head"] * heads + np.maximum(alone_s, full_s)

    start = {
        "launch_s": 10e-6,
        "s_per_head": 5e-8,
        "alone_s_per_token": 5e-8,
        "full_s_per_token_and_head": 4e-10,
    }
    return KernelLaw(start, time_s)


def gdn_convolution_update() -> KernelLaw:
    """Return the law of the convolution of one token for each sequence: launch, plus channels."""

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        return rates["launch_s"] + rates["s_per_channel"] * sizes["batch"] * _channels(sizes)

    return KernelLaw({"launch_s": 2e-6, "s_per_channel": 5e-12}, time_s)


def gdn_update() -> KernelLaw:
    """Return the law of the recurrence of one token for each sequence: launch, plus the states."""

    def time_s(rates: Rates, sizes: Sizes) -> Floats:
        return rates["launch_s"] + rates["s_per_head"] * sizes["batch"] * sizes["v_heads"]

    return KernelLaw({"launch_s": 4e-6, "s_per_head": 4e-8}, time_s)


def attention_traffic(q_heads: Number, kv_heads: Number, head_dim: Number, kv_bytes: int) -> Number:
    """Return the bytes that prefill attention moves a token: queries, keys and values in, answers out."""
    return head_dim * (2 * DTYPE_BYTES["bf16"] * q_heads + 2 * kv_bytes * kv_heads)


def soft_max(x: Floats, y: Floats, p: float) -> Floats:
    """Return (x^p + y^p)^(1/p) of positive numbers (`sim.hardware.step_time.smooth_max` for arrays)."""
    high, low = np.maximum(x, y), np.minimum(x, y)
    found: Floats = high * (1.0 + (low / high) ** p) ** (1.0 / p)
    return found


def _channels(sizes: Sizes) -> Floats:
    return GDN_HEAD_DIM * (2 * sizes["k_heads"] + sizes["v_heads"])
