"""What one pulled block is where prefill and decode engines may have unequal numbers of GPUs (vLLM 0.28.0).

Every GPU of a decode engine reads its own share. With more tensor ranks than the prefill engine, several read
parts of one GPU's block; with fewer, each reads from several GPUs. What all ranks hold alike (MLA, or more
ranks than KV heads) is read by every decode GPU, from one prefill GPU. Source: `nixl/base_worker.py`,
`nixl/pull_worker.py` and `TransferTopology` of `kv_connector/utils.py`.
"""

from typing import NamedTuple

from sim.base.errors import InputError
from sim.hardware.parallel import Parallel


class PullShape(NamedTuple):
    """One block of the pool, as a decode engine reads it."""

    n_bytes: int
    """Of all its GPUs together."""
    pieces: int
    """Descriptors that each of its GPUs posts: all post at the same time."""


def pull_shape(
    prefill: Parallel, decode: Parallel, *, block_bytes: int, layers: int, shared: bool
) -> PullShape:
    """Return what a decode engine reads for one block.

    Args:
        prefill, decode: sizes of the engines on both sides.
        block_bytes: of a block on one GPU of the decode engine.
        layers: with a part in each block.
        shared: whether a prefill engine's GPUs hold the same: nothing is put together from several.

    """
    sources = 1 if shared else max(1, prefill.tensor // decode.tensor)
    return PullShape(block_bytes * decode.tensor, layers * sources)


def check_pull(prefill: Parallel, decode: Parallel, *, kv_heads: int, splits_heads: bool) -> None:
    """Raise InputError if vLLM 0.28.0's NixlConnector does not join such engines.

    `splits_heads`: plain attention, neither MLA nor beside recurrent state.
    """
    tensor, decode_tensor = prefill.tensor, decode.tensor
    keys = f"workers.tensor_parallel = {tensor}, decode_tensor_parallel = {decode_tensor}"
    if prefill.pipeline > 1 or decode.pipeline > 1:
        raise InputError(
            f"workers.pipeline_parallel = {prefill.pipeline}: vLLM 0.28.0's pulling NixlConnector joins no "
            "engines with pipeline stages; use tensor_parallel, or aggregated workers"
        )
    larger, smaller = max(tensor, decode_tensor), min(tensor, decode_tensor)
    if larger % smaller:
        raise InputError(f"{keys}: tensor parallel size {larger} is not divisible by {smaller} (vLLM 0.28.0)")
    if splits_heads and tensor > decode_tensor and tensor > kv_heads:
        raise InputError(
            f"{keys}: vLLM 0.28.0 does not pull from more tensor ranks than the model has KV heads, "
            f"{kv_heads}, into fewer; give prefill workers at most {kv_heads}, or decode workers as many"
        )
