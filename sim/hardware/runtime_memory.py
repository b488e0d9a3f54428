"""What an engine takes of a GPU beside weights and KV cache: context, communication, working memory, CUDA
graphs.

A rule from the shapes: vLLM's profile run computes a whole budget of tokens, and then samples for as many
sequences as may run. The two peaks do not come together; while logits are made, the tokens' last hidden
states stay.

Fitted are, for each release, the bytes a logit takes, a captured graph and what is taken before (`ACCOUNTS`).
"""

from typing import NamedTuple

from sim.hardware.gpu import GpuSettings
from sim.hardware.layers import Stage
from sim.hardware.model import ModelSettings
from sim.hardware.number_formats import DTYPE_BYTES
from sim.hardware.parallel import Parallel
from sim.hardware.tensor_share import tensor_share

_GIB, _MIB = 2**30, 2**20
LARGEST_GRAPH = 512
"""Most sequences of a captured graph (`compilation_config.max_cudagraph_capture_size`)."""
COMMUNICATION_BYTES = {1: 0, 2: 342 * _MIB}
MORE_COMMUNICATION_BYTES = 392 * _MIB
"""NCCL's buffers for 2 GPUs, and for more: the values of AIConfigurator's core 0.12, measured on NVIDIA's
nodes."""


class Account(NamedTuple):
    """How a release of vLLM counts."""

    sampler_bytes_per_logit: float
    """Working memory of the sampler, for each sequence and entry of the vocabulary."""
    graph_bytes: int
    """Of CUDA graphs, for each captured size and layer; 0: they are not counted."""
    context_bytes: int | None
    """What is taken before anything is allocated; None: `GpuSettings.cuda_context_bytes`."""


ACCOUNTS = {
    # One start-up log: Qwen3.8-27B on an H100 (the talk, slide 10), taken to run with the server's defaults.
    # 2.10 GiB less 80 MiB of hidden states are 8.5 bytes for each of 1,024 x 248,320 logits; 0.96 GiB of
    # graphs are 316 kB for each of 51 sizes and 64 layers.
    "0.28.0": Account(8.54, 315_800, None),
    # Its sampler sorts: BF16 and FP32 logits (6 bytes), sorted values and their places (12), the places
    # before and CUB's second buffer (20). What is left of the log of Llama-3.1-70B FP8 on an H200 (0.90,
    # 8,192 tokens, 1,024 sequences: 53.15 GiB of KV cache) is the context. Graphs count since 0.21.
    "0.14.1": Account(38, 0, int(0.21 * _GIB)),
}
"""By release of vLLM."""
RELEASE = "0.28.0"
"""The release that engines are simulated of."""


class Runtime(NamedTuple):
    """Memory of one GPU that is neither weights nor KV cache, in bytes."""

    context: int
    communication: int
    activation: int
    graphs: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self)


def runtime(
    model: ModelSettings,
    gpu: GpuSettings,
    parallel: Parallel,
    stage: Stage,
    *,
    max_num_batched_tokens: int,
    max_num_seqs: int,
    release: str = RELEASE,
) -> Runtime:
    """Return what a GPU of one stage of a pipeline takes; measured values of the model go before the rule."""
    account = ACCOUNTS[release]
    activation, graphs = model.peak_activation_bytes, model.cuda_graphs_bytes
    if activation is None:
        part, limits = tensor_share(model, parallel), (max_num_batched_tokens, max_num_seqs)
        activation = _activation(model, part, stage, limits, account)
    if graphs is None:
        graphs = account.graph_bytes * captured_sizes(max_num_seqs) * len(stage.layers)
    context = gpu.cuda_context_bytes if account.context_bytes is None else account.context_bytes
    ranks = parallel.gpus if parallel.expert else parallel.tensor * parallel.pipeline
    communication = COMMUNICATION_BYTES.get(ranks, MORE_COMMUNICATION_BYTES)
    return Runtime(context, communication, activation, graphs)


def captured_sizes(max_num_seqs: int) -> int:
    """Return how many sizes vLLM 0.28.0 captures: 1, 2, 4, every 8 below 256, every 16 up to twice the
    sequences."""
    largest = min(2 * max_num_seqs, LARGEST_GRAPH)
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, LARGEST_GRAPH + 1, 16)]
    return sum(size <= largest for size in sizes)


def _activation(
    model: ModelSettings, part: ModelSettings, stage: Stage, limits: tuple[int, int], account: Account
) -> int:
    """Return the larger of the two peaks, for limits of tokens and sequences."""
    tokens, sequences = limits
    width = DTYPE_BYTES[model.dtype]
    layers = tokens * layer_bytes_per_token(part, stage)
    if not stage.last:
        return layers
    logits = min(sequences, tokens) * model.vocab_size
    return max(layers, tokens * model.hidden_size * width + int(logits * account.sampler_bytes_per_logit))


def layer_bytes_per_token(part: ModelSettings, stage: Stage) -> int:
    """Return the working memory of a token in the widest layer: residual, input, and what is made of it."""
    width, hidden = DTYPE_BYTES[part.dtype], part.hidden_size
    quantised = part.weights_dtype in ("fp8", "fp8_block")
    wide = 3 if part.attention_output_gate else 2
    made = [part.head_dim * (part.attention_heads * wide + 2 * part.kv_heads)]
    if part.latent:
        made = [2 * part.attention_heads * (part.latent.key_width + part.latent.v_head_dim)]
    matrices = 2 + part.gated_mlp
    if stage.count("dense"):
        made.append(matrices * part.intermediate_size)
    if part.experts and stage.count("experts"):
        # Gate and up projection or the output, whichever is wider, and between them the activated input.
        one = max((matrices - 1) * part.experts.intermediate_size, hidden) + part.experts.intermediate_size
        made.append(part.experts.per_token * one)
    if stage.count("linear"):
        key, value = (
            getattr(part, f"linear_{kind}_heads") * getattr(part, f"linear_{kind}_head_dim")
            for kind in ("key", "value")
        )
        made.append(2 * (2 * key + value) + 2 * value)
    if part.mamba and stage.count("mamba"):
        made.append(2 * part.mamba.conv_width + 2 * part.mamba.width)
    return width * (max(made) + hidden) + hidden * (1 if quantised else width)
