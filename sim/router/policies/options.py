"""What other people's routers can be told: each table has the names and the defaults of its source."""

from typing import Annotated, Literal

from pydantic import Field

from sim.base.bounds import CountOrZero, Weight
from sim.base.settings import Settings

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=1, le=1e6, allow_inf_nan=False)]


class SglangOptions(Settings):
    """Of policy `sglang-cache-aware`: flags of SGLang's model gateway, with its command line's defaults."""

    cache_threshold: Share = 0.3
    """Share of a prompt above which the worker that had it goes before the one with the shortest queue."""
    balance_abs_threshold: CountOrZero = 64
    """Requests between the longest and the shortest queue above which the load may be uneven."""
    balance_rel_threshold: Ratio = 1.5
    """Times the shortest queue that the longest one has to be longer than for the load to be uneven."""
    max_tree_size: int = Field(default=67_108_864, ge=1, le=10**15)
    """Characters of prompts that the gateway remembers of each worker."""
    characters_per_token: float = Field(default=4.0, ge=0.01, le=1000, allow_inf_nan=False)
    """What a token counts for in `max_tree_size`: traces know no characters."""


class TwoTierOptions(Settings):
    """Of policy `dynamo-two-tier`: parameters of Dynamo's `dynamo-two-tier-cost-fn`."""

    cache_threshold: Share = 0.5
    """Share of a prompt's blocks above which overlap goes before load."""
    balance_abs_threshold: CountOrZero = 32
    """Requests between the fullest and the emptiest worker above which the load may be uneven."""
    balance_rel_threshold: Ratio = 1.1
    """Times the emptiest worker's requests that the fullest has to have more than for it to be uneven."""


class VllmDpOptions(Settings):
    """Of policy `vllm-dp`: vLLM itself has no flag for it."""

    version: Literal["0.28", "0.10"] = "0.28"
    """Which release's score. 0.10: four times waiting and once running. 0.28: the greater of own requests in
    flight and of waiting and running, with a penalty on waiting where the KV pool is more than half full."""


class ConsistentHashOptions(Settings):
    """Of policy `consistent-hash-bounded`: the ring, and how even the load has to be."""

    load_factor: Ratio = 1.25
    """Times the mean load that a worker may have."""
    points: int = Field(default=160, ge=1, le=10_000)
    """Places on the ring that each worker has."""


class LlmDOptions(Settings):
    """Of policy `llm-d`: weights of its scorers, as llm-d's guides `optimized-baseline` and
    `precise-prefix-cache-routing` have them. The first default of the Gateway API Inference Extension was 1
    for the first three."""

    prefix_weight: Weight = 3.0
    """Of the share of the prompt's blocks that a worker has."""
    queue_weight: Weight = 2.0
    """Of how short its queue is, between the longest and the shortest."""
    kv_utilization_weight: Weight = 2.0
    """Of the free share of its KV pool."""
    no_hit_lru_weight: Weight = 2.0
    """Of how long ago it had a request that nobody has anything of, for such requests."""


class PolicyOptions(Settings):
    """Tables for policies that have settings of their own; they mean nothing to another policy."""

    sglang: SglangOptions = SglangOptions()
    """Of policy `sglang-cache-aware`."""
    two_tier: TwoTierOptions = TwoTierOptions()
    """Of policy `dynamo-two-tier`."""
    vllm_dp: VllmDpOptions = VllmDpOptions()
    """Of policy `vllm-dp`."""
    consistent_hash: ConsistentHashOptions = ConsistentHashOptions()
    """Of policy `consistent-hash-bounded`."""
    llm_d: LlmDOptions = LlmDOptions()
    """Of policy `llm-d`."""
