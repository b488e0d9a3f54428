"""How one engine is spread over GPUs: tensor, pipeline, data and expert parallel, as vLLM 0.28.0 has them."""

from dataclasses import dataclass
from typing import NamedTuple


class Parallel(NamedTuple):
    """The parallel sizes of one engine; all of it on one GPU unless said otherwise."""

    tensor: int = 1
    """GPUs that share every matrix and the KV heads (`--tensor-parallel-size`)."""
    pipeline: int = 1
    """Stages that share the layers (`--pipeline-parallel-size`)."""
    data: int = 1
    """Attention ranks, each with a scheduler and a KV pool of its own (`--data-parallel-size`)."""
    expert: bool = False
    """Whether experts are whole on one of tensor x data GPUs (`--enable-expert-parallel`), instead of cut."""

    def __str__(self) -> str:
        """Return "TP2 DP4 EP", or "" for one GPU."""
        sizes = [
            f"{name}{size}"
            for name, size in (("TP", self.tensor), ("PP", self.pipeline), ("DP", self.data))
            if size > 1
        ]
        return " ".join([*sizes, *(["EP"] if self.expert else [])])

    @property
    def gpus_per_rank(self) -> int:
        """GPUs of one data-parallel rank."""
        return self.tensor * self.pipeline

    @property
    def gpus(self) -> int:
        """GPUs of the engine."""
        return self.gpus_per_rank * self.data


ONE_GPU = Parallel()


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines of one kind, all spread in the same way."""

    count: int
    parallel: Parallel = ONE_GPU

    @property
    def gpus(self) -> int:
        """GPUs of all of them."""
        return self.count * self.parallel.gpus

    @property
    def ranks(self) -> int:
        """Data-parallel ranks of all of them: what a router chooses among."""
        return self.count * self.parallel.data


def cluster_name(first: Engines, decode: Engines) -> str:
    """Return a cluster in words: "8", "4 x TP2", "2P6D", "2P TP2 + 4D"; `decode` has none if aggregated."""
    sizes, decode_sizes = str(first.parallel), str(decode.parallel)
    if not decode.count:
        return f"{first.count} x {sizes}" if sizes else str(first.count)
    if not sizes and not decode_sizes:
        return f"{first.count}P{decode.count}D"
    return f"{f'{first.count}P {sizes}'.strip()} + {f'{decode.count}D {decode_sizes}'.strip()}"
