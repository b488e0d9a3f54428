"""The GPU as settings: memory, peaks, and how much of the peaks kernels reach."""

from typing import Literal

from pydantic import Field

from sim.base.bounds import Count
from sim.base.settings import Settings
from sim.base.units import Bytes, BytesPerSecond, FlopPerSecond

_GIB = 2**30


class AchievedShares(Settings):
    """Shares of a GPU's peaks that kernels reach; the defaults are those of the shipped H100."""

    weight_read: float = Field(default=0.88, gt=0, le=1)
    """Of the memory bandwidth, reading weights."""
    bf16_dense: float = Field(default=0.63, gt=0, le=1)
    """Of the BF16 peak, matrix products of BF16 or FP16 weights."""
    fp8_dense: float = Field(default=0.60, gt=0, le=1)
    """Of the FP8 peak, matrix products of FP8 weights."""
    bf16_kv_prefill: float = Field(default=0.69, gt=0, le=1)
    """Of the BF16 peak, prefill attention over a 16-bit cache."""
    fp8_kv_prefill: float = Field(default=0.46, gt=0, le=1)
    """Of the BF16 peak, prefill attention over an FP8 cache."""
    bf16_kv_read: float = Field(default=0.85, gt=0, le=1)
    """Of the memory bandwidth, decode attention over a 16-bit cache."""
    fp8_kv_read: float = Field(default=0.44, gt=0, le=1)
    """Of the memory bandwidth, decode attention over an FP8 cache."""


class GpuSettings(Settings):
    """One GPU: memory, peaks, and how much of the peaks kernels reach."""

    name: str
    """Name of the preset or of the GPU; finds the step-time coefficients."""
    memory_bytes: Bytes = Field(gt=0)
    """Total as CUDA reports it."""
    cuda_context_bytes: Bytes = int(1.01 * _GIB)
    """What a process takes before it allocates anything; the default was measured on an H100 (the talk)."""
    memory_bandwidth_bytes_per_s: BytesPerSecond = Field(gt=0)
    """Peak of the datasheet."""
    bf16_flop_per_s: FlopPerSecond = Field(gt=0)
    """Peak of the datasheet, dense."""
    fp8_flop_per_s: FlopPerSecond | None = Field(default=None, gt=0)
    """Peak of the datasheet, dense; unset: the GPU widens FP8 weights and computes in BF16."""
    achieved: AchievedShares = AchievedShares()
    """How much of the peaks kernels reach."""
    gpus_per_node: Count = 8
    """GPUs of a node."""
    joined_by: Literal["nvlink", "pcie"] = "nvlink"
    """What joins the GPUs of a node."""
    pcie_generation: int = Field(default=5, ge=3, le=6)
    """Of the 16 lanes between a GPU and its host."""
