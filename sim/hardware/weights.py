"""The weights of a model, line by line: all of them, or what one GPU of an engine holds.

Norms, biases, convolutions and other vectors are left out.
"""

from math import prod
from typing import NamedTuple

from sim.hardware.layers import Stage
from sim.hardware.number_formats import WEIGHT_BYTES
from sim.hardware.shape import ModelShape


class WeightPart(NamedTuple):
    """One line of the sum of the weights."""

    label: str
    formula: str
    params: int
    bytes_per_param: float

    @property
    def n_bytes(self) -> int:
        """What the line takes."""
        return int(self.params * self.bytes_per_param)


def weight_parts(part: ModelShape, stage: Stage, whole: ModelShape) -> list[WeightPart]:
    """Return the sum of the weights of one stage.

    Args:
        part: the model, or what one of several tensor-parallel GPUs has of it.
        stage: whose layers.
        whole: the model; its router chooses from all experts, however few of them are here.

    """
    found = [*layer_parts(part, stage, whole), *_copies(part, stage)]
    width, vocabulary = WEIGHT_BYTES[part.dtype], (part.vocab_size, part.hidden_size)
    matrices = (stage.first + stage.last) if not part.tied_embeddings else 1
    if stage.first or stage.last:
        label = "embedding and head" if stage.first and stage.last else "embedding" if stage.first else "head"
        found.append(_part(label, (matrices, *vocabulary), width))
    if part.vision_params and stage.first:
        found.append(WeightPart("vision tower", f"{part.vision_params:,}", part.vision_params, width))
    return found


def layer_parts(
    part: ModelShape, stage: Stage, whole: ModelShape, *, of_token: bool = False
) -> list[WeightPart]:
    """Return the matrices of a stage's layers; `of_token`: only the experts that one token goes through."""
    width = WEIGHT_BYTES[part.weights_dtype]
    found = []
    if dense := stage.count("dense"):
        sizes = (2 + part.gated_mlp, part.hidden_size, part.intermediate_size, dense)
        found.append(_part("MLP", sizes, width))
    if stage.count("experts"):
        found += _expert_parts(part, stage, whole, of_token)
    return found + _attention_parts(part, stage)


def _expert_parts(part: ModelShape, stage: Stage, whole: ModelShape, of_token: bool) -> list[WeightPart]:
    experts, everywhere = part.experts, whole.experts
    assert experts is not None
    assert everywhere is not None
    layers, hidden, matrices = stage.count("experts"), part.hidden_size, 2 + part.gated_mlp
    width = WEIGHT_BYTES[part.weights_dtype]
    found = [
        _part(
            "experts",
            (
                experts.per_token if of_token else experts.routed,
                matrices,
                hidden,
                experts.intermediate_size,
                layers,
            ),
            WEIGHT_BYTES[experts.weights_dtype or part.weights_dtype],
        )
    ]
    if experts.shared_intermediate_size:
        found.append(
            _part("shared experts", (matrices, hidden, experts.shared_intermediate_size, layers), width)
        )
    return [*found, _part("router", (everywhere.routed, hidden, layers), WEIGHT_BYTES[part.dtype])]


def _attention_parts(part: ModelShape, stage: Stage) -> list[WeightPart]:
    width = WEIGHT_BYTES[part.attention_weights_dtype or part.weights_dtype]
    found = []
    if full := stage.count("full"):
        if part.latent:
            found.append(_latent(part, full, width))
        else:
            found.append(_grouped("full attention", part, (part.kv_heads, part.head_dim), full, width))
    if part.windows and (windowed := stage.count("windowed")):
        heads = part.windows.kv_heads or part.kv_heads, part.windows.head_dim or part.head_dim
        found.append(_grouped("windowed attention", part, heads, windowed, width))
    if linear := stage.count("linear"):
        found.append(_linear(part, linear, width))
    if part.mamba and (mamba := stage.count("mamba")):
        # In: the channels, a gate for each, two matrices a group, a step a head. Out: the channels.
        columns = 3 * part.mamba.width + 2 * part.mamba.groups * part.mamba.state_size + part.mamba.heads
        found.append(_part("Mamba-2", (part.hidden_size, columns, mamba), width))
    return found


def _grouped(label: str, part: ModelShape, kv: tuple[int, int], layers: int, width: float) -> WeightPart:
    """Query and output (and gate) have the width of the query heads; key and value that of the KV heads."""
    kv_heads, head_dim = kv
    wide = 3 if part.attention_output_gate else 2
    return WeightPart(
        label,
        f"{part.hidden_size:,} x {head_dim} x ({part.attention_heads} x {wide} + {kv_heads} x 2) x {layers}",
        part.hidden_size * head_dim * (part.attention_heads * wide + kv_heads * 2) * layers,
        width,
    )


def _latent(part: ModelShape, layers: int, width: float) -> WeightPart:
    """Of a query and of the latent vector every GPU has the first matrix, and of the second its heads."""
    latent, hidden, heads = part.latent, part.hidden_size, part.attention_heads
    assert latent is not None
    query = f"{hidden:,} x {heads} x {latent.key_width}"
    query_params = hidden * heads * latent.key_width
    if latent.q_lora_rank:
        query = f"{latent.q_lora_rank:,} x ({hidden:,} + {heads} x {latent.key_width})"
        query_params = latent.q_lora_rank * (hidden + heads * latent.key_width)
    key_value = heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    return WeightPart(
        "latent attention",
        f"({query} + {hidden:,} x {latent.cached_width} + {latent.kv_lora_rank} x {heads} x "
        f"{latent.qk_nope_head_dim + latent.v_head_dim} + {heads} x {latent.v_head_dim} x {hidden:,}) x "
        f"{layers}",
        (
            query_params
            + hidden * latent.cached_width
            + latent.kv_lora_rank * key_value
            + heads * latent.v_head_dim * hidden
        )
        * layers,
        width,
    )


def _linear(part: ModelShape, layers: int, width: float) -> WeightPart:
    """Query and key have the width of the key heads; value, gate and output that of the value heads."""
    key = part.linear_key_heads * part.linear_key_head_dim
    value = part.linear_value_heads * part.linear_value_head_dim
    return WeightPart(
        "linear attention",
        f"{part.hidden_size:,} x ({part.linear_key_heads} x {part.linear_key_head_dim} x 2 + "
        f"{part.linear_value_heads} x {part.linear_value_head_dim} x 3) x {layers}",
        part.hidden_size * (2 * key + 3 * value) * layers,
        width,
    )


def _copies(part: ModelShape, stage: Stage) -> list[WeightPart]:
    """What is kept beside the matrices: vLLM 0.28.0 widens those of the latent vector once more for decoding.

    `process_weights_after_loading` of `vllm/model_executor/layers/attention/mla_attention.py`.
    """
    if part.latent is None or not (layers := stage.count("full")):
        return []
    per_head = part.latent.qk_nope_head_dim + part.latent.v_head_dim
    sizes = (part.latent.kv_lora_rank, part.attention_heads, per_head, layers)
    return [_part("latent attention, for decoding", sizes, WEIGHT_BYTES[part.dtype])]


def _part(label: str, sizes: tuple[int, ...], width: float) -> WeightPart:
    return WeightPart(label, " x ".join(f"{size:,}" for size in sizes), prod(sizes), width)
