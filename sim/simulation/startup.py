"""Whether vLLM starts: a pool must hold one sequence of the greatest length, or the engine refuses.

`get_kv_cache_configs` of `vllm/v1/core/kv_cache_utils.py`: whole blocks for all tokens, and of a hybrid model
two states in every group. Blocks given (`num_gpu_blocks_override`) are checked like derived ones.
"""

from math import ceil
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.words import exactly, format_bytes
from sim.hardware import session_blocks
from sim.hardware.capacity import Capacity
from sim.scenario.scenario import Scenario


class Pool(NamedTuple):
    """The KV pool of a kind of worker."""

    capacity: Capacity
    given_by: str | None
    """The key that gives the blocks; None if they are derived from the GPU's memory."""


def check_startup(scenario: Scenario, capacity: Capacity) -> list[str]:
    """Refuse an engine that does not start; return what there is to say of one that is taken all the same.

    That is one whose blocks are given and its longest sequence is not: the pool counts, as it would with a
    shorter `max_model_len`.

    Raises:
        InputError: says what one sequence needs, what there is, the longest that fits, and what would help.

    """
    notes = []
    for pool in _pools(scenario, capacity):
        lack = _lack(pool)
        if lack and (pool.given_by is None or scenario.engine.max_model_len is not None):
            raise InputError(f"vLLM 0.28.0 does not start: {lack}. {_remedy(scenario, pool)}")
        if lack:
            notes.append(
                f"vLLM 0.28.0 would not start with these blocks unless max_model_len is lowered: {lack}; say "
                "so with engine.max_model_len"
            )
    return notes


def longest_tokens(capacity: Capacity, num_blocks: int) -> int:
    """Return the longest sequence with which vLLM starts; 0 if there is none."""
    return session_blocks.longest_tokens(
        capacity.engine.layout.specs,
        num_blocks,
        capacity.model.max_model_len,
        capacity.in_flight_tokens,
        capacity.state_blocks,
    )


def _pools(scenario: Scenario, capacity: Capacity) -> list[Pool]:
    pools = [Pool(capacity, "engine.kv_blocks" if capacity.blocks_given else None)]
    given = scenario.disaggregation.decode_kv_blocks
    if scenario.workers.decode and (given or scenario.workers.decode_parallel != scenario.workers.parallel):
        pools.append(Pool(scenario.decode_capacity(), "disaggregation.decode_kv_blocks" if given else None))
    return pools


def _lack(pool: Pool) -> str:
    """Say what a pool lacks for one sequence of the greatest length; "" if nothing."""
    capacity = pool.capacity
    needed, size = capacity.longest_blocks, capacity.block_bytes
    if needed <= capacity.num_blocks:
        return ""
    longest = longest_tokens(capacity, capacity.num_blocks)
    fits = f"the longest that fits has {exactly(longest, 'token')}" if longest else "not even one token fits"
    given = f"{pool.given_by} = " if pool.given_by else ""
    return (
        f"to serve at least one request with max_model_len {capacity.model.max_model_len:,}, "
        f"{format_bytes(needed * size)} of KV cache is needed ({exactly(needed, 'block')}), which is "
        "larger than the "
        f"available {format_bytes(capacity.num_blocks * size)} "
        f"({given}{exactly(capacity.num_blocks, 'block')}); "
        f"{fits}"
    )


def _remedy(scenario: Scenario, pool: Pool) -> str:
    capacity = pool.capacity
    if pool.given_by:
        return f"Lower engine.max_model_len or raise {pool.given_by}"
    needs = (
        capacity.longest_blocks * capacity.block_bytes + capacity.share.weights_bytes + capacity.runtime_bytes
    )
    share = ceil(1000 * (needs + 1) / capacity.gpu.memory_bytes) / 1000
    now = scenario.engine.gpu_memory_utilization
    more = f"raise engine.gpu_memory_utilization from {now} to {share}, " if share <= 1 else ""
    return f"Lower engine.max_model_len, {more}or take a gpu with more memory"
