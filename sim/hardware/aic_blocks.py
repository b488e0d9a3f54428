"""How many KV blocks AIConfigurator's core estimates, where it is installed: beside our own arithmetic."""

import logging
from importlib import import_module
from importlib.util import find_spec

from sim.hardware.capacity import Capacity
from sim.hardware.hf.names import PACKAGE

SYSTEMS = {
    "a100-80gb": "a100_sxm",
    "h100-80gb": "h100_sxm",
    "h200-141gb": "h200_sxm",
    "b200": "b200_sxm",
    "l40s": "l40s",
}
"""Its systems by the names of our GPUs."""


def estimate(result: Capacity, max_num_batched_tokens: int, max_num_seqs: int) -> int | str | None:
    """Return its number of blocks for the same engine, why it has none, or None if there is nobody to ask.

    It counts 3.5 GiB of a GPU as taken besides weights and activation ("for safer deployment"), and its own
    size of the GPU's memory unless that is given, as it is here.
    """
    model, gpu, parallel = result.model, result.gpu, result.engine.parallel
    system = SYSTEMS.get(gpu.name)
    if system is None or model.hf_id is None or find_spec(PACKAGE) is None:
        return None
    ranks = parallel.tensor * parallel.data
    expert, tensor = (ranks, 1) if parallel.expert else (1, ranks)
    experts = {"moe_tp_size": tensor, "moe_ep_size": expert} if model.experts else {}
    logging.getLogger(PACKAGE).setLevel(logging.CRITICAL)  # it says on stderr what it raises too
    try:
        found = import_module(f"{PACKAGE}.sdk").estimate_num_gpu_blocks(
            *(model.hf_id, system, "vllm", "current"),
            scheduler_block_size=result.block_tokens,
            max_num_tokens=max_num_batched_tokens,
            max_batch_size=max_num_seqs,
            memory_fraction_kind="of_total",
            memory_fraction_value=result.gpu_memory_utilization,
            gpu_memory_capacity_bytes_override=gpu.memory_bytes,
            tp_size=parallel.tensor,
            pp_size=parallel.pipeline,
            attention_dp_size=parallel.data,
            kvcache_quant_mode="fp8" if model.kv_dtype == "fp8" else None,
            **experts,
        )
    except Exception as error:
        return str(error).splitlines()[0][:150] if str(error) else type(error).__name__
    return int(found)
