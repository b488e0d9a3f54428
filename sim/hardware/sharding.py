"""An engine of several GPUs: what each holds, and which sizes vLLM 0.28.0 refuses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.hardware.cache_groups import KERNEL_BLOCK_TOKENS, CacheLayout, cache_layout
from sim.hardware.cache_page import latent_or_heads_bytes, state_bytes
from sim.hardware.gpu import GpuSettings
from sim.hardware.layers import Stage, layers_of, stages
from sim.hardware.model import ModelSettings
from sim.hardware.parallel import Parallel
from sim.hardware.tensor_share import tensor_share
from sim.hardware.weights import WeightPart, weight_parts

FP8_BLOCK = 128
"""Rows and columns of a matrix that share a scale in block FP8."""


@dataclass(frozen=True, slots=True)
class GpuShare:
    """What one GPU of an engine holds; all GPUs of a pipeline's stage hold as much."""

    stage: int
    """Of the pipeline, from 0 on."""
    layers: int
    """Of the model, here."""
    weight_parts: tuple[WeightPart, ...]
    """Line by line, as computed."""
    weights_bytes: int
    """Of them all; where weights are known as loaded, so much more or less."""
    kv_layers: int
    """Full-attention layers here."""
    kv_bytes_per_token: int
    """Cache of a token in them."""
    state_layers: int
    """Layers with a recurrent state here."""
    state_bytes_per_sequence: int
    """Recurrent state of a sequence in them."""

    @property
    def weights_computed_bytes(self) -> int:
        """Weights as the sum of `weight_parts`."""
        return sum(part.n_bytes for part in self.weight_parts)


class Sharded(NamedTuple):
    """A model spread over the GPUs of an engine."""

    parallel: Parallel
    shares: tuple[GpuShare, ...]
    """One for each stage of the pipeline."""
    layout: CacheLayout
    """Cache groups, and a block's bytes on the GPU that has most of it."""

    one_copy: bool = False
    """Whether all tensor ranks hold the same cache, so that host memory keeps it once."""


def sharded(
    model: ModelSettings,
    parallel: Parallel,
    block_size: int = KERNEL_BLOCK_TOKENS,
    state_step_tokens: int = KERNEL_BLOCK_TOKENS,
) -> Sharded:
    """Return what every GPU of an engine holds; check the sizes with `check_parallel` before."""
    part = tensor_share(model, parallel)
    found = stages(model, parallel.pipeline)
    shares = tuple(_share(model, part, stage, i) for i, stage in enumerate(found))
    layout = cache_layout(model, block_size, parallel, state_step_tokens)
    one_copy = model.latent is not None and len(layout.groups) == 1 and parallel.tensor > 1
    return Sharded(parallel, shares, layout, one_copy and parallel.pipeline == 1)


def _share(model: ModelSettings, part: ModelSettings, stage: Stage, index: int) -> GpuShare:
    parts = tuple(weight_parts(part, stage, model))
    computed = sum(line.n_bytes for line in parts)
    if model.weights_loaded_bytes is not None:
        computed = computed * model.weights_loaded_bytes // model.weights_computed_bytes
    states = stage.count("linear") + stage.count("mamba")
    return GpuShare(
        stage=index,
        layers=len(stage.layers),
        weight_parts=parts,
        weights_bytes=computed,
        kv_layers=stage.count("full"),
        kv_bytes_per_token=latent_or_heads_bytes(part) * stage.count("full"),
        state_layers=states,
        state_bytes_per_sequence=state_bytes(part) * states,
    )


def check_parallel(model: ModelSettings, gpu: GpuSettings, parallel: Parallel) -> None:
    """Refuse what vLLM 0.28.0 refuses, in its words where it has any, and what is not modelled.

    Raises:
        InputError: names the sizes that do not go together, and what to give instead.

    """
    for key in ("tensor", "pipeline", "data"):
        size = getattr(parallel, key)
        if size < 1:
            raise InputError(f"{key}_parallel = {size}: must be 1 or more")
    tensor = parallel.tensor
    if tensor > gpu.gpus_per_node:
        raise InputError(
            f"tensor_parallel = {tensor}: a node has {exactly(gpu.gpus_per_node, 'GPU')} ({gpu.name}), and "
            "matrices "
            "that nodes share are not modelled; use pipeline_parallel, or set gpu.gpus_per_node"
        )
    if parallel.pipeline > model.layers:
        raise InputError(
            f"pipeline_parallel = {parallel.pipeline}: {model.name} has {exactly(model.layers, 'layer')}, "
            "and every "
            "stage holds one at least; give less"
        )
    for problem in (*_heads(model, tensor), *_matrices(model, tensor), *_experts(model, parallel)):
        raise InputError(f"{model.name} with tensor_parallel = {tensor}: {problem}")


def _heads(model: ModelSettings, tensor: int) -> Iterator[str]:
    """Say which heads cannot be divided."""
    if model.attention_heads % tensor:
        yield (
            f"Total number of attention heads ({model.attention_heads}) must be divisible by tensor parallel "
            f"size ({tensor}); {_divisors(model.attention_heads)}"
        )
    heads = [] if model.latent else [("kv_heads", model.kv_heads)]
    if model.windows:
        heads.append(("windows.kv_heads", model.windows.kv_heads or model.kv_heads))
    for key, count in heads:
        if count % tensor and tensor % count:
            yield f"{key} = {count} can neither be divided nor copied evenly; give a divisor or a multiple"
    states = []
    if model.linear_attention_layers:
        states += [("linear_key_heads", model.linear_key_heads)]
        states += [("linear_value_heads", model.linear_value_heads)]
    if mamba := model.mamba:
        states.append(("mamba.heads", mamba.heads))
        if mamba.groups % tensor and mamba.groups != 1:
            yield (
                "If tensor parallel world size does not divide num_groups, then num_groups must equal 1; "
                f"mamba.groups = {mamba.groups}, {_divisors(mamba.groups)}"
            )
    for key, count in states:
        if count % tensor:
            yield f"{key}: {count} is not divisible by {tensor}; {_divisors(count)}"


def _matrices(model: ModelSettings, tensor: int) -> Iterator[str]:
    """Say which matrix cannot be cut."""
    dense = any(layer.mlp == "dense" for layer in layers_of(model))
    widths = [("intermediate_size", model.intermediate_size)] if dense else []
    if model.experts and model.experts.shared_intermediate_size:
        widths.append(("experts.shared_intermediate_size", model.experts.shared_intermediate_size))
    for key, width in widths:
        if width % tensor:
            yield f"{key}: {width} is not divisible by {tensor}; {_divisors(width)}"
        elif model.weights_dtype == "fp8_block" and width // tensor % FP8_BLOCK:
            yield (
                f"Weight output_partition_size = {width // tensor} is not divisible by weight quantization "
                f"block_n = {FP8_BLOCK} ({key}); give less"
            )


def _experts(model: ModelSettings, parallel: Parallel) -> Iterator[str]:
    """Say why experts cannot be spread like this."""
    experts, ranks = model.experts, parallel.tensor * parallel.data
    if experts is None:
        if parallel.expert:
            yield (
                "Number of experts in the model must be greater than 0 when expert parallelism is enabled; "
                "leave expert_parallel out for a dense model"
            )
        return
    if parallel.tensor > experts.routed:
        yield (
            f"Tensor parallel size {parallel.tensor} is greater than the number of experts {experts.routed}; "
            "give less"
        )
    if parallel.expert:
        if ranks > experts.routed:
            some = f"{exactly(experts.routed, 'expert')} over {exactly(ranks, 'GPU')}"
            yield f"{some}: some would have none; give less data_parallel"
        return
    width, rest = divmod(experts.intermediate_size, ranks)
    if rest:
        yield (
            f"experts.intermediate_size: {experts.intermediate_size} is not divisible by {ranks}, tensor x "
            "data; use expert_parallel"
        )
    elif (experts.weights_dtype or model.weights_dtype) == "fp8_block" and width % FP8_BLOCK:
        yield (
            f"The output_size of gate's and up's weight = {width} is not divisible by weight quantization "
            f"block_n = {FP8_BLOCK} (experts.intermediate_size); give less, or use expert_parallel"
        )


def _divisors(count: int, most: int = 64) -> str:
    found = [str(n) for n in range(1, min(count, most) + 1) if count % n == 0 and n & (n - 1) == 0]
    return f"give one of {', '.join(found)}"
