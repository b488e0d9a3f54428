"""What a token or a sequence takes in the cache of one layer, by kind of layer."""

from sim.hardware.number_formats import DTYPE_BYTES
from sim.hardware.shape import ModelShape


def latent_or_heads_bytes(model: ModelShape) -> int:
    """Return the bytes of a token in one full-attention layer: a latent vector, or key and value of every
    head."""
    width = model.latent.cached_width if model.latent else 2 * model.kv_heads * model.head_dim
    return width * DTYPE_BYTES[model.kv_dtype]


def windowed_bytes(model: ModelShape) -> int:
    """Return the bytes of a token in one windowed layer; 0 in a model without them."""
    windows = model.windows
    if windows is None:
        return 0
    heads, head_dim = windows.kv_heads or model.kv_heads, windows.head_dim or model.head_dim
    return 2 * heads * head_dim * DTYPE_BYTES[model.kv_dtype]


def state_bytes(model: ModelShape) -> int:
    """Return the bytes of a sequence's recurrent state in one layer: convolution inputs and SSM state."""
    state = DTYPE_BYTES[model.ssm_state_dtype]
    if mamba := model.mamba:
        inputs = (mamba.conv_kernel - 1) * mamba.conv_width * DTYPE_BYTES[model.dtype]
        return inputs + mamba.width * mamba.state_size * state
    key_width = model.linear_key_heads * model.linear_key_head_dim
    value_width = model.linear_value_heads * model.linear_value_head_dim
    inputs = (model.linear_conv_kernel - 1) * (2 * key_width + value_width) * DTYPE_BYTES[model.dtype]
    return inputs + value_width * model.linear_key_head_dim * state
