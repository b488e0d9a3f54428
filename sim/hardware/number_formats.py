"""Formats of weights, KV cache and recurrent states, and the bytes that a number takes, its scales
included."""

from typing import Literal

WeightsDtype = Literal["fp8", "bf16", "fp16", "fp8_block", "mxfp4", "nvfp4", "int4"]
"""FP8 has a scale a tensor or a channel; "fp8_block" one for 128 x 128 numbers, "mxfp4" one for 32, "nvfp4"
for 16, "int4" for 128 (AWQ, GPTQ and their kin)."""
KvDtype = Literal["fp8", "bf16", "fp16"]
StateDtype = Literal["bf16", "fp16", "fp32"]

DTYPE_BYTES = {"fp8": 1, "bf16": 2, "fp16": 2, "fp32": 4, "fp8_block": 1}
"""Of formats whose numbers are whole bytes, scales left out."""
WEIGHT_BYTES: dict[str, float] = {
    "fp8": 1,
    "bf16": 2,
    "fp16": 2,
    "fp8_block": 1 + 4 / (128 * 128),
    "mxfp4": (4 + 8 / 32) / 8,
    "nvfp4": (4 + 8 / 16) / 8,
    "int4": (4 + 16 / 128) / 8,
}
"""Of a weight with its share of the scales: FP32 for FP8 blocks, 8 bits for FP4 (OCP MX 1.0; NVFP4 has one
FP32 more a tensor), 16 bits for INT4."""
