"""A mixture of experts in place of the MLP, as settings."""

from sim.base.bounds import Count, CountOrZero
from sim.base.settings import Settings
from sim.hardware.number_formats import WeightsDtype


class Experts(Settings):
    """The experts of a layer: a router chooses some of them for every token, shared ones see all."""

    routed: Count
    """Experts to choose from."""
    per_token: Count
    """How many a token goes through."""
    intermediate_size: Count
    """Width of one of them."""
    shared_intermediate_size: CountOrZero = 0
    """Width of all shared experts together; 0: there are none."""
    first_dense_layers: CountOrZero = 0
    """Layers at the start that have a plain MLP (DeepSeek: 3)."""
    every: Count = 1
    """Every so manieth layer has experts, the others a plain MLP (Llama 4 Maverick: 2)."""
    weights_dtype: WeightsDtype | None = None
    """Format of the routed experts; unset: that of the other matrices."""

    def are_in(self, layer: int) -> bool:
        """Whether the layer of this number, from 0 on, has experts."""
        return layer >= self.first_dense_layers and (layer + 1) % self.every == 0
