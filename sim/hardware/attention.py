"""Kinds of attention beside plain grouped queries, as settings: latent, windowed, Mamba-2."""

from typing import Literal

from sim.base.bounds import Count, CountOrZero, Layers
from sim.base.settings import Settings

WindowKind = Literal["sliding_window", "chunked_local"]


class LatentAttention(Settings):
    """Multi-head latent attention (DeepSeek-V2 and -V3): the cache of a token is one vector for all heads."""

    kv_lora_rank: Count
    """Width of the latent vector."""
    qk_rope_head_dim: Count
    """Width of the part of the key that carries positions, beside the latent vector; one for all heads."""
    qk_nope_head_dim: Count
    """Width of the rest of a head's key."""
    v_head_dim: Count
    """Width of a head's value."""
    q_lora_rank: CountOrZero = 0
    """Width to which the query is pressed first; 0: not at all."""

    @property
    def cached_width(self) -> int:
        """Numbers that the cache holds of a token and layer."""
        return self.kv_lora_rank + self.qk_rope_head_dim

    @property
    def key_width(self) -> int:
        """Width of a head's key."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim


class WindowedAttention(Settings):
    """Layers that read the last tokens only: a sliding window (Mistral, gpt-oss, Gemma) or a chunk (Llama
    4)."""

    layers: Layers
    """How many of the model's layers."""
    tokens: Count
    """The window, the newest token included; of chunked local attention, the chunk."""
    kind: WindowKind = "sliding_window"
    """Whether the window slides or jumps."""
    kv_heads: Count | None = None
    """Key heads, where they are not those of the full-attention layers (Gemma 4)."""
    head_dim: Count | None = None
    """Width of a head, where it is not that of the full-attention layers (Gemma 4)."""


class Mamba2(Settings):
    """Mamba-2 layers beside attention (Nemotron-H): a recurrent state instead of a KV cache."""

    layers: Layers
    """How many of the model's layers."""
    heads: Count
    """Heads of the state."""
    head_dim: Count
    """Width of one."""
    state_size: Count
    """Numbers of state for each of a head's channels."""
    groups: Count = 1
    """Groups of heads that share their input and output matrices."""
    conv_kernel: Count = 4
    """Width of the convolution; the state keeps one input less."""

    @property
    def width(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim

    @property
    def conv_width(self) -> int:
        """Channels of the convolution."""
        return self.width + 2 * self.groups * self.state_size
