"""The model and the GPU as settings, and the sizes that follow from the model's shape.

Shapes are those of a decoder with SwiGLU MLPs and grouped-query attention, alone or mixed with
gated-delta-net layers that keep a recurrent state instead of a KV cache (Qwen3-Next, Qwen3.5 and their kin).
"""

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, CountOrZero
from sim.base.settings import Settings
from sim.base.units import Bytes, BytesPerSecond, FlopPerSecond, Tokens

WeightsDtype = Literal["fp8", "bf16", "fp16"]
StateDtype = Literal["bf16", "fp16", "fp32"]
DTYPE_BYTES = {"fp8": 1, "bf16": 2, "fp16": 2, "fp32": 4}

KERNEL_BLOCK_TOKENS = 16
"""vLLM 0.28.0's default block; a hybrid model's block is a multiple of it, for its attention kernels."""

_GIB = 2**30


class WeightPart(NamedTuple):
    """One line of the sum of the weights."""

    label: str
    formula: str
    params: int
    bytes_per_param: int


class ModelSettings(Settings):
    """A model's shape, number formats and, where an engine's log gives them, its measured sizes."""

    name: str
    """Name of the preset or of the model; finds the step-time coefficients."""
    hidden_size: Count
    """Width of a token between the layers."""
    intermediate_size: Count
    """Width of the MLP."""
    vocab_size: Count
    """Rows of the embedding and of the output head."""
    full_attention_layers: Count
    """Layers with a KV cache."""
    attention_heads: Count
    """Query heads of a full-attention layer."""
    kv_heads: Count
    """Key heads of a full-attention layer; there are as many value heads."""
    head_dim: Count
    """Width of a head of a full-attention layer."""
    attention_output_gate: bool = False
    """Whether the query projection also makes a gate for the attention output (Qwen3-Next, Qwen3.5)."""
    linear_attention_layers: CountOrZero = 0
    """Layers with a recurrent state (gated delta net); 0 for a plain model."""
    linear_key_heads: CountOrZero = 0
    """Query and key heads of a linear-attention layer."""
    linear_key_head_dim: CountOrZero = 0
    """Width of one of those."""
    linear_value_heads: CountOrZero = 0
    """Value heads of a linear-attention layer."""
    linear_value_head_dim: CountOrZero = 0
    """Width of one of those."""
    linear_conv_kernel: Count = 4
    """Width of the convolution in front of a linear-attention layer; the state keeps one input less."""
    tied_embeddings: bool = False
    """Whether the output head is the embedding matrix."""
    vision_params: int = Field(default=0, ge=0, le=10**12)
    """Parameters of a vision tower: they take memory, no time in a text workload."""
    weights_dtype: WeightsDtype = "bf16"
    """Format of the matrices of the layers."""
    dtype: Literal["bf16", "fp16"] = "bf16"
    """Format of embedding, head, vision tower and convolution state."""
    kv_dtype: WeightsDtype = "bf16"
    """Format of the KV cache."""
    ssm_state_dtype: StateDtype = "bf16"
    """Format of the recurrent state."""
    max_model_len: Tokens = 262_144
    """Longest sequence, prompt and output together."""
    weights_loaded_bytes: Bytes | None = None
    """Weights as the engine reports them after loading; unset: as computed from the shape."""
    peak_activation_bytes: Bytes = int(2.10 * _GIB)
    """Largest working memory of a step; the default was measured for Qwen3.8-27B (the talk)."""
    cuda_graphs_bytes: Bytes = int(0.96 * _GIB)
    """Memory of the captured CUDA graphs; the default was measured for Qwen3.8-27B (the talk)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.attention_heads % self.kv_heads:
            raise ValueError(
                f"attention_heads = {self.attention_heads} is not a multiple of kv_heads = {self.kv_heads}"
            )
        if not self.linear_attention_layers:
            return self
        if self.linear_attention_layers < 1.5 * self.full_attention_layers:
            raise ValueError(
                f"linear_attention_layers = {self.linear_attention_layers} must be 0 or at least 1.5 times "
                f"full_attention_layers = {self.full_attention_layers}: below that vLLM pads its cache "
                "groups, which is not modelled"
            )
        for key in ("key_heads", "key_head_dim", "value_heads", "value_head_dim"):
            if getattr(self, f"linear_{key}") < 1:
                raise ValueError(
                    f"linear_{key} must be 1 or more in a model with linear_attention_layers = "
                    f"{self.linear_attention_layers}"
                )
        return self

    @property
    def layers(self) -> int:
        """Number of layers of both kinds."""
        return self.full_attention_layers + self.linear_attention_layers

    def weight_parts(self) -> list[WeightPart]:
        """Return the sum of the weights line by line, as the talk makes it; norms and biases are left out."""
        width = DTYPE_BYTES[self.dtype]
        matrices = 1 if self.tied_embeddings else 2
        parts = self._layer_parts()
        parts.append(
            WeightPart(
                "embedding and head",
                f"{matrices} x {self.vocab_size:,} x {self.hidden_size:,}",
                matrices * self.vocab_size * self.hidden_size,
                width,
            )
        )
        if self.vision_params:
            parts.append(WeightPart("vision tower", f"{self.vision_params:,}", self.vision_params, width))
        return parts

    def _layer_parts(self) -> list[WeightPart]:
        """Return the matrices that every token is multiplied with."""
        hidden, width = self.hidden_size, DTYPE_BYTES[self.weights_dtype]
        # Query and output (and gate) have the width of the query heads; key and value that of the KV heads.
        wide = 3 if self.attention_output_gate else 2
        parts = [
            WeightPart(
                "MLP",
                f"3 x {hidden:,} x {self.intermediate_size:,} x {self.layers}",
                3 * hidden * self.intermediate_size * self.layers,
                width,
            ),
            WeightPart(
                "full attention",
                f"{hidden:,} x {self.head_dim} x ({self.attention_heads} x {wide} + {self.kv_heads} x 2)"
                f" x {self.full_attention_layers}",
                hidden
                * self.head_dim
                * (self.attention_heads * wide + self.kv_heads * 2)
                * self.full_attention_layers,
                width,
            ),
        ]
        if self.linear_attention_layers:
            # Query and key have the width of the key heads; value, gate and output that of the value heads.
            parts.append(
                WeightPart(
                    "linear attention",
                    f"{hidden:,} x ({self.linear_key_heads} x {self.linear_key_head_dim} x 2 + "
                    f"{self.linear_value_heads} x {self.linear_value_head_dim} x 3)"
                    f" x {self.linear_attention_layers}",
                    hidden * (2 * self._key_width + 3 * self._value_width) * self.linear_attention_layers,
                    width,
                )
            )
        return parts

    @property
    def _key_width(self) -> int:
        return self.linear_key_heads * self.linear_key_head_dim

    @property
    def _value_width(self) -> int:
        return self.linear_value_heads * self.linear_value_head_dim

    @property
    def layer_params(self) -> int:
        """Parameters of the layers' matrices."""
        return sum(part.params for part in self._layer_parts())

    @property
    def weights_computed_bytes(self) -> int:
        """Weights as the sum of `weight_parts`."""
        return sum(part.params * part.bytes_per_param for part in self.weight_parts())

    @property
    def weights_bytes(self) -> int:
        """Weights that count: as loaded where that is known, else as computed."""
        return self.weights_computed_bytes if self.weights_loaded_bytes is None else self.weights_loaded_bytes

    @property
    def step_weights_bytes(self) -> int:
        """Weights that a step reads whole: the layers and the head, not the embedding or the vision tower."""
        head = self.vocab_size * self.hidden_size * DTYPE_BYTES[self.dtype]
        return self.layer_params * DTYPE_BYTES[self.weights_dtype] + head

    @property
    def flop_per_token(self) -> int:
        """Operations of the layers' matrices for one token, attention itself not included."""
        return 2 * self.layer_params

    @property
    def attention_flop_per_pair(self) -> int:
        """Operations of all full-attention layers for one new token looking at one token of context."""
        return 4 * self.full_attention_layers * self.attention_heads * self.head_dim

    @property
    def kv_bytes_per_token_and_layer(self) -> int:
        """Key and value of one token in one full-attention layer."""
        return 2 * self.kv_heads * self.head_dim * DTYPE_BYTES[self.kv_dtype]

    @property
    def kv_bytes_per_token(self) -> int:
        """KV cache of one token over all full-attention layers."""
        return self.kv_bytes_per_token_and_layer * self.full_attention_layers

    @property
    def state_bytes_per_layer(self) -> int:
        """Recurrent state of one sequence in one linear-attention layer: convolution inputs and SSM state."""
        channels = 2 * self._key_width + self._value_width
        convolution = (self.linear_conv_kernel - 1) * channels * DTYPE_BYTES[self.dtype]
        ssm = self._value_width * self.linear_key_head_dim * DTYPE_BYTES[self.ssm_state_dtype]
        return convolution + ssm

    @property
    def state_bytes_per_sequence(self) -> int:
        """Recurrent state of one sequence over all linear-attention layers; 0 for a plain model."""
        return self.state_bytes_per_layer * self.linear_attention_layers

    @property
    def state_groups(self) -> int:
        """KV cache groups of linear-attention layers; the full-attention layers are one group beside them.

        A group has as many layers as there are full-attention layers (vLLM 0.28.0), so that all blocks of the
        pool have one size.
        """
        return -(-self.linear_attention_layers // self.full_attention_layers)

    def block_tokens(self, block_size: int = KERNEL_BLOCK_TOKENS) -> int:
        """Return the tokens of one cache block when the engine is started with `--block-size block_size`.

        In a hybrid model vLLM 0.28.0 enlarges the block until the attention page holds a recurrent state.
        """
        if not self.linear_attention_layers:
            return block_size
        step_bytes = KERNEL_BLOCK_TOKENS * self.kv_bytes_per_token_and_layer
        return max(block_size, KERNEL_BLOCK_TOKENS * -(-self.state_bytes_per_layer // step_bytes))

    def block_bytes(self, block_size: int = KERNEL_BLOCK_TOKENS) -> int:
        """Return the size of one block of the pool: one page in each layer of a group."""
        return self.block_tokens(block_size) * self.kv_bytes_per_token


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
