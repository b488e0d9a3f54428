"""How vLLM 0.28.0's server is started on a GPU where nothing else is said (`engine/arg_utils.py`)."""

from typing import NamedTuple

from sim.hardware.gpu import GpuSettings

_GIB = 2**30


class ServerDefaults(NamedTuple):
    """Limits of a step."""

    max_num_batched_tokens: int
    max_num_seqs: int


def server_defaults(gpu: GpuSettings) -> ServerDefaults:
    """Return the defaults of a GPU: by its memory, and an A100 is small whatever it has."""
    if gpu.memory_bytes >= 160 * _GIB:
        return ServerDefaults(16_384, 1024)
    if gpu.memory_bytes >= 70 * _GIB and "a100" not in gpu.name.lower():
        return ServerDefaults(8192, 1024)
    return ServerDefaults(2048, 256)
