"""How one engine is spread over GPUs: tensor, pipeline, data and expert parallel, as vLLM 0.28.0 has them."""

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

    @property
    def gpus_per_rank(self) -> int:
        """GPUs of one data-parallel rank."""
        return self.tensor * self.pipeline

    @property
    def gpus(self) -> int:
        """GPUs of the engine."""
        return self.gpus_per_rank * self.data


ONE_GPU = Parallel()
