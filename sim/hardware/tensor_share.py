"""What one GPU has of every layer: heads, matrices and experts divided as vLLM 0.28.0 divides them.

KV heads are divided and, where there are fewer than GPUs, each GPU has one; a latent cache is whole on each;
heads of a recurrent state are divided; experts are cut over tensor x data GPUs, or whole ones dealt to them.
"""

from typing import Any, TypeVar

from sim.hardware.parallel import Parallel
from sim.hardware.shape import ModelShape

Shape = TypeVar("Shape", bound=ModelShape)

VOCABULARY_PADDING = 64
"""Rows of embedding and head come in multiples of this (`vocab_parallel_embedding.py`)."""


def tensor_share(model: Shape, parallel: Parallel) -> Shape:
    """Return the shape that one GPU computes with, all layers included."""
    if parallel.tensor == 1 and parallel.data == 1:
        return model
    tensor = parallel.tensor
    changes: dict[str, Any] = {
        "intermediate_size": -(-model.intermediate_size // tensor),
        "vocab_size": -(-_padded(model.vocab_size) // tensor) if tensor > 1 else model.vocab_size,
        "attention_heads": -(-model.attention_heads // tensor),
        "kv_heads": heads_each(model.kv_heads, tensor),
        "linear_key_heads": -(-model.linear_key_heads // tensor),
        "linear_value_heads": -(-model.linear_value_heads // tensor),
        "vision_params": -(-model.vision_params // tensor),
    }
    if windows := model.windows:
        heads = heads_each(windows.kv_heads or model.kv_heads, tensor)
        changes["windows"] = windows.model_copy(update={"kv_heads": heads})
    if mamba := model.mamba:
        # Where groups cannot be divided, each GPU has copies of those that its heads need.
        groups = mamba.groups if mamba.groups % tensor == 0 else tensor
        changes["mamba"] = mamba.model_copy(
            update={"heads": -(-mamba.heads // tensor), "groups": groups // tensor}
        )
    if experts := model.experts:
        ranks = tensor * parallel.data
        here: dict[str, Any] = {"shared_intermediate_size": -(-experts.shared_intermediate_size // tensor)}
        if parallel.expert:
            here["routed"] = -(-experts.routed // ranks)
        else:
            here["intermediate_size"] = -(-experts.intermediate_size // ranks)
        changes["experts"] = experts.model_copy(update=here)
    return model.model_copy(update=changes)


def heads_each(kv_heads: int, tensor: int) -> int:
    """Return the KV heads of one GPU."""
    return max(kv_heads // tensor, 1)


def _padded(rows: int) -> int:
    return -(-rows // VOCABULARY_PADDING) * VOCABULARY_PADDING
