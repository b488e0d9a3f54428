"""A model's shape and number formats as settings: what a `config.json` says, in the simulator's words.

A decoder whose layers have grouped-query or latent attention, alone or beside layers that read a window or
keep a recurrent state, and an MLP or experts. What follows from a shape stands in `weights`, `cache_groups`
and `sharding`.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, CountOrZero, LayersOrZero
from sim.base.settings import Settings
from sim.base.units import Bytes, Tokens
from sim.hardware.attention import LatentAttention, Mamba2, WindowedAttention
from sim.hardware.experts import Experts
from sim.hardware.number_formats import KvDtype, StateDtype, WeightsDtype


class ModelShape(Settings):
    """A model's shape, number formats and, where an engine's log gives them, its measured sizes."""

    name: str
    """Name of the preset or of the model; finds the step-time coefficients."""
    hidden_size: Count
    """Width of a token between the layers."""
    intermediate_size: Count
    """Width of the MLP."""
    vocab_size: Count
    """Rows of the embedding and of the output head."""
    full_attention_layers: LayersOrZero
    """Layers with a KV cache of all tokens."""
    attention_heads: Count
    """Query heads of an attention layer."""
    kv_heads: Count
    """Key heads of a full-attention layer; there are as many value heads."""
    head_dim: Count
    """Width of a head of a full-attention layer."""
    attention_output_gate: bool = False
    """Whether the query projection also makes a gate for the attention output (Qwen3-Next, Qwen3.5)."""
    linear_attention_layers: LayersOrZero = 0
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
    kv_dtype: KvDtype = "bf16"
    """Format of the KV cache."""
    ssm_state_dtype: StateDtype = "bf16"
    """Format of the recurrent state."""
    max_model_len: Tokens = 262_144
    """Longest sequence, prompt and output together."""
    weights_loaded_bytes: Bytes | None = None
    """Weights of all GPUs as the engine reports them after loading; unset: as computed from the shape."""
    peak_activation_bytes: Bytes | None = None
    """Largest working memory of a step, as the engine reports it; unset: as `sim.hardware.runtime_memory` has
    it."""
    cuda_graphs_bytes: Bytes | None = None
    """Memory of the captured CUDA graphs, likewise."""
    hf_id: str | None = None
    """Name on Hugging Face, such as "Qwen/Qwen3-32B"."""
    latent: LatentAttention | None = None
    """Latent attention in the full-attention layers; unset: grouped queries."""
    windows: WindowedAttention | None = None
    """Layers that read a window or a chunk; unset: there are none."""
    mamba: Mamba2 | None = None
    """Mamba-2 layers; unset: there are none."""
    experts: Experts | None = None
    """Experts in place of the MLP; unset: there are none."""
    attention_weights_dtype: WeightsDtype | None = None
    """Format of the attention matrices; unset: that of the other matrices."""
    gated_mlp: bool = True
    """Whether MLP and experts have three matrices (SwiGLU), not two."""
    layer_pattern: str | None = Field(default=None, pattern=r"^[FWLM\-E]+$", max_length=10_000)
    """One letter a layer, repeated as often as needed: F full, W windowed, L linear attention, M Mamba-2;
    with - (an MLP) or E (experts) as layers of their own, the others have neither. Unset: the full-attention
    layers at even distances, the last one at the end."""
    mtp_layers: LayersOrZero = 0
    """Layers for multi-token prediction that are loaded: 0 unless the engine drafts with them."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.attention_heads % self.kv_heads:
            raise ValueError(
                f"attention_heads = {self.attention_heads} is not a multiple of kv_heads = {self.kv_heads}"
            )
        if not self.full_attention_layers and not self.windows:
            raise ValueError("full_attention_layers = 0: a model has layers with a KV cache")
        if self.windows:
            _check_windows(self, self.windows)
        if self.experts and self.experts.per_token > self.experts.routed:
            raise ValueError(
                f"experts.per_token = {self.experts.per_token}: there are {self.experts.routed} to choose "
                "from"
            )
        if self.mamba and self.linear_attention_layers:
            raise ValueError(
                "mamba: beside linear_attention_layers there is no rule for it; give one of them"
            )
        if self.mamba and self.mamba.heads % self.mamba.groups:
            raise ValueError(
                f"mamba.heads = {self.mamba.heads} is not a multiple of mamba.groups = {self.mamba.groups}"
            )
        _check_states(self)
        if self.layer_pattern:
            _check_pattern(self, self.layer_pattern)
        return self

    @property
    def layers(self) -> int:
        """Number of layers of all kinds."""
        if self.layer_pattern and set(self.layer_pattern) & {"-", "E"}:
            return len(self.layer_pattern)
        windowed = self.windows.layers if self.windows else 0
        return self.full_attention_layers + self.state_layers + windowed

    @property
    def state_layers(self) -> int:
        """Layers with a recurrent state."""
        return self.mamba.layers if self.mamba else self.linear_attention_layers


def _check_windows(model: ModelShape, windows: WindowedAttention) -> None:
    if model.state_layers:
        raise ValueError(
            "windows: beside layers with a recurrent state there is no rule for them; give one of them"
        )
    if model.latent:
        raise ValueError("windows: beside latent attention there is no rule for them; give one of them")
    heads = windows.kv_heads or model.kv_heads
    if model.attention_heads % heads:
        raise ValueError(
            f"attention_heads = {model.attention_heads} is not a multiple of windows.kv_heads = {heads}"
        )
    if model.full_attention_layers >= 1.5 * windows.layers:
        raise ValueError(
            f"full_attention_layers = {model.full_attention_layers} must be less than 1.5 times "
            f"windows.layers = {windows.layers}: above that vLLM makes several groups of full-attention "
            "layers, which is not modelled"
        )


def _check_states(model: ModelShape) -> None:
    layers = model.state_layers
    key = "mamba.layers" if model.mamba else "linear_attention_layers"
    if layers and layers < 1.5 * model.full_attention_layers:
        raise ValueError(
            f"{key} = {layers} must be 0 or at least 1.5 times full_attention_layers = "
            f"{model.full_attention_layers}: below that vLLM pads its cache groups, which is not modelled"
        )
    if not model.linear_attention_layers:
        return
    for part in ("key_heads", "key_head_dim", "value_heads", "value_head_dim"):
        if getattr(model, f"linear_{part}") < 1:
            raise ValueError(
                f"linear_{part} must be 1 or more in a model with linear_attention_layers = {layers}"
            )


def _check_pattern(model: ModelShape, pattern: str) -> None:
    repeated = (pattern * (-(-model.layers // len(pattern))))[: model.layers]
    windowed = model.windows.layers if model.windows else 0
    wanted = {
        "F": ("full_attention_layers", model.full_attention_layers),
        "W": ("windows.layers", windowed),
        "L": ("linear_attention_layers", model.linear_attention_layers),
        "M": ("mamba.layers", model.mamba.layers if model.mamba else 0),
    }
    for letter, (key, layers) in wanted.items():
        if repeated.count(letter) != layers:
            raise ValueError(
                f"layer_pattern has {repeated.count(letter)} layers {letter} in {model.layers}, {key} = "
                f"{layers}"
            )
    if "E" in repeated and not model.experts:
        raise ValueError("layer_pattern has layers E: a model of experts has a table experts")
