"""Which kernel computes prefills of gated delta nets, and what follows for blocks (vLLM 0.33.0).

FlashInfer's can leave a recurrent state inside a chunk, not only at its end, and wants blocks of whole 64
tokens for that; Triton's can do neither. Source: `qwen_gdn_linear_attn.py` and `platforms/interface.py` of
vLLM 0.33.0, read, not run on a GPU: there the log line "Setting attention block size to N tokens" tells.
"""

from math import lcm
from typing import Literal

from sim.hardware.cache_groups import KERNEL_BLOCK_TOKENS
from sim.hardware.gpu import GpuSettings
from sim.hardware.model import ModelSettings

Backend = Literal["auto", "flashinfer", "triton"]

STATE_TOKENS = 64
"""What FlashInfer's checkpoints are aligned to."""
BLACKWELL_KEY_HEAD = 128
"""The key heads that its kernel takes there (with CUDA 13, which is assumed)."""
_HOPPER = ("h100", "h200", "h20", "gh200")
_BLACKWELL = ("b200", "b300", "gb200", "gb300")


def saves_inside(model: ModelSettings, gpu: GpuSettings, backend: Backend) -> bool:
    """Whether prefills of a model save states inside a chunk.

    Only gated delta nets do; other recurrent layers, and models with latent attention, have conditions of
    their own, which are not modelled.
    """
    if not model.state_layers or model.mamba is not None or model.latent is not None:
        return False
    if backend != "auto":
        return backend == "flashinfer"
    name = gpu.name.lower()
    if name.startswith(_BLACKWELL):
        return model.linear_key_head_dim == BLACKWELL_KEY_HEAD
    return name.startswith(_HOPPER)


def state_step_tokens(*, inside: bool) -> int:
    """Return what a hybrid model's block is a multiple of; `inside`: states are saved inside chunks."""
    return lcm(KERNEL_BLOCK_TOKENS, STATE_TOKENS) if inside else KERNEL_BLOCK_TOKENS
