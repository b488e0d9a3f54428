"""What a step of a model is made of: its matrices as vLLM merges them, and the traffic between."""

from typing import NamedTuple

from sim.base.errors import InputError
from sim.hardware.model import DTYPE_BYTES, ModelSettings


class Matrix(NamedTuple):
    """A matrix that tokens are multiplied with."""

    n_out: int
    k_in: int
    copies: int
    """How often the model has it."""
    dtype: str
    """Format of its numbers."""


def matrices(model: ModelSettings) -> list[Matrix]:
    """Return the matrices of the layers, and last the output head.

    Raises:
        InputError: the model has parts that the kernel tables are not read for.

    """
    parts = {"experts": model.experts, "latent attention": model.latent, "Mamba-2": model.mamba}
    if others := [name for name, part in (*parts.items(), ("windows", model.windows)) if part is not None]:
        raise InputError(
            f"{model.name} has {' and '.join(others)}: kernel tables are read for plain and gated-delta-net "
            "models"
        )
    hidden, dtype = model.hidden_size, model.weights_dtype
    heads = model.attention_heads * model.head_dim
    # An output gate is made beside the queries.
    queries = heads * (2 if model.attention_output_gate else 1)
    found = [
        Matrix(2 * model.intermediate_size, hidden, model.layers, dtype),
        Matrix(hidden, model.intermediate_size, model.layers, dtype),
        Matrix(queries + 2 * model.kv_heads * model.head_dim, hidden, model.full_attention_layers, dtype),
        Matrix(hidden, heads, model.full_attention_layers, dtype),
    ]
    if model.linear_attention_layers:
        keys = model.linear_key_heads * model.linear_key_head_dim
        values = model.linear_value_heads * model.linear_value_head_dim
        # Queries, keys, values and their gate come out of one product.
        found += [
            Matrix(2 * (keys + values), hidden, model.linear_attention_layers, dtype),
            Matrix(hidden, values, model.linear_attention_layers, dtype),
        ]
    return [*found, Matrix(model.vocab_size, hidden, 1, model.dtype)]


def elementwise_bytes_per_token(model: ModelSettings) -> int:
    """Return what operations between the matrix products move a token, at least, fused as vLLM fuses them.

    In each layer two additions to the residual with their norms, the activation between the matrices of the
    MLP and, with FP8 weights, the conversion of what goes into each product.
    """
    wide = DTYPE_BYTES[model.dtype]
    norms = 2 * 4 * model.hidden_size
    activation = 3 * model.intermediate_size
    moved = (norms + activation) * wide * model.layers
    if model.weights_dtype == "fp8":
        layers = [matrix for matrix in matrices(model) if matrix.dtype == "fp8"]
        moved += sum(matrix.k_in * matrix.copies for matrix in layers) * (wide + DTYPE_BYTES["fp8"])
    return moved
