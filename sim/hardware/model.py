"""The model as settings, and the sizes that follow from its shape, all of it on one GPU.

What one GPU of several holds: `sim.hardware.sharding`.
"""

from sim.hardware.cache_groups import KERNEL_BLOCK_TOKENS, cache_layout
from sim.hardware.cache_page import latent_or_heads_bytes, state_bytes
from sim.hardware.gpu import AchievedShares, GpuSettings
from sim.hardware.layers import Stage, layers_of
from sim.hardware.number_formats import DTYPE_BYTES, WEIGHT_BYTES, StateDtype, WeightsDtype
from sim.hardware.shape import ModelShape
from sim.hardware.weights import WeightPart, layer_parts, weight_parts

__all__ = [
    "DTYPE_BYTES",
    "KERNEL_BLOCK_TOKENS",
    "AchievedShares",
    "GpuSettings",
    "ModelSettings",
    "StateDtype",
    "WeightPart",
    "WeightsDtype",
]


class ModelSettings(ModelShape):
    """A model's shape, number formats and, where an engine's log gives them, its measured sizes."""

    @property
    def _whole(self) -> Stage:
        return Stage(layers_of(self), first=True, last=True)

    def weight_parts(self) -> list[WeightPart]:
        """Return the sum of the weights line by line, as the talk makes it; norms and biases are left out."""
        return weight_parts(self, self._whole, self)

    @property
    def layer_params(self) -> int:
        """Parameters of the layers' matrices."""
        return sum(part.params for part in layer_parts(self, self._whole, self))

    @property
    def weights_computed_bytes(self) -> int:
        """Weights as the sum of `weight_parts`."""
        return sum(part.n_bytes for part in self.weight_parts())

    @property
    def weights_bytes(self) -> int:
        """Weights that count: as loaded where that is known, else as computed."""
        return self.weights_computed_bytes if self.weights_loaded_bytes is None else self.weights_loaded_bytes

    @property
    def step_weights_bytes(self) -> int:
        """Weights that a large step reads whole: the layers with all experts and the head.

        Not the embedding or the vision tower.
        """
        return sum(part.n_bytes for part in layer_parts(self, self._whole, self)) + self._head_bytes

    @property
    def expert_weights_bytes(self) -> int:
        """Those of them that are of routed experts."""
        parts = layer_parts(self, self._whole, self)
        return sum(part.n_bytes for part in parts if part.label == "experts")

    @property
    def token_weights_bytes(self) -> int:
        """Weights that a step of a single token reads: of the experts, those that it goes through."""
        parts = layer_parts(self, self._whole, self, of_token=True)
        return sum(part.n_bytes for part in parts) + self._head_bytes

    @property
    def _head_bytes(self) -> int:
        return int(self.vocab_size * self.hidden_size * WEIGHT_BYTES[self.dtype])

    @property
    def flop_per_token(self) -> int:
        """Operations of the layers' matrices for one token, and of its look into windows; no other
        attention."""
        params = sum(part.params for part in layer_parts(self, self._whole, self, of_token=True))
        return 2 * params + self._window_flop

    @property
    def _window_flop(self) -> int:
        if not self.windows:
            return 0
        head_dim = self.windows.head_dim or self.head_dim
        return 4 * self._whole.count("windowed") * self.attention_heads * head_dim * self.windows.tokens

    @property
    def attention_flop_per_pair(self) -> int:
        """Operations of all full-attention layers for one new token looking at one token of context.

        In prefill: latent vectors are unfolded into heads.
        """
        width = self.latent.key_width + self.latent.v_head_dim if self.latent else 2 * self.head_dim
        return 2 * self._whole.count("full") * self.attention_heads * width

    @property
    def kv_bytes_per_token_and_layer(self) -> int:
        """Key and value of one token in one full-attention layer."""
        return latent_or_heads_bytes(self)

    @property
    def kv_bytes_per_token(self) -> int:
        """KV cache of one token over all full-attention layers."""
        return self.kv_bytes_per_token_and_layer * self._whole.count("full")

    @property
    def state_bytes_per_layer(self) -> int:
        """Recurrent state of one sequence in one layer: convolution inputs and SSM state."""
        return state_bytes(self)

    @property
    def state_bytes_per_sequence(self) -> int:
        """Recurrent state of one sequence over all layers that have one; 0 for a plain model."""
        return self.state_bytes_per_layer * self.state_layers

    @property
    def state_groups(self) -> int:
        """KV cache groups of layers with a recurrent state; the full-attention layers are one group beside
        them.

        A group has as many layers as there are full-attention layers (vLLM 0.28.0), so that all blocks of the
        pool have one size.
        """
        return sum(group.spec.kind == "recurrent" for group in cache_layout(self).groups)

    def block_tokens(self, block_size: int = KERNEL_BLOCK_TOKENS) -> int:
        """Return the tokens of one cache block when the engine is started with `--block-size block_size`.

        In a hybrid model vLLM 0.28.0 enlarges the block until the attention page holds a recurrent state.
        Where groups differ, of the full-attention layers, which alone a router sees.
        """
        return cache_layout(self, block_size).block_tokens

    def block_bytes(self, block_size: int = KERNEL_BLOCK_TOKENS) -> int:
        """Return the size of one block of the pool: one page in each layer of a group."""
        return cache_layout(self, block_size).block_bytes
