"""The sections of a scenario that join the rooms' own settings to a cluster.

Keys that are vLLM's or Dynamo's keep their names.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import MOST, Count
from sim.base.known_name import KnownName
from sim.base.settings import Settings
from sim.base.units import Bytes, Seconds
from sim.engine.settings import PoolBlocks
from sim.kv.offload import POLICIES
from sim.links.placement import PlacementSettings
from sim.links.settings import NetworkSettings
from sim.links.transfer import LinkSettings
from sim.router.conditional import ConditionalDisaggSettings
from sim.router.config import RouterConfig
from sim.scenario.faults import FrontendLimits

MOST_WORKERS = 16_384
"""Of a kind: to set up so many takes some 20 s and 1.3 GB."""
Workers = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
EvictionPolicyName = Annotated[str, KnownName(lambda: [*POLICIES])]
"""A name in `sim.kv.offload.POLICIES`."""


class WorkersSettings(Settings):
    """The engines of the cluster, each on a GPU of its own: aggregated, or prefill and decode apart."""

    count: Workers | None = None
    """Aggregated workers: each computes prompts and answers."""
    prefill: Workers | None = None
    """Disaggregated: workers that compute prompts."""
    decode: Workers | None = None
    """Disaggregated: workers that pull the prompts' KV blocks and compute the answers."""

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if (self.count is None) == (self.prefill is None) or (self.prefill is None) != (self.decode is None):
            raise ValueError("give either count (aggregated workers), or both prefill and decode")
        return self

    def __str__(self) -> str:
        return str(self.count) if self.count else f"{self.prefill}P{self.decode}D"

    @property
    def gpus(self) -> int:
        """Workers of all kinds."""
        return self.count or (self.prefill or 0) + (self.decode or 0)


class OffloadSettings(Settings):
    """The CPU tier of each engine: vLLM's OffloadingConnector."""

    cpu_bytes: Bytes = Field(gt=0)
    """Host memory for KV blocks, for each worker."""
    eviction_policy: EvictionPolicyName = "lru"
    """Which blocks make room for others."""
    offload_prompt_only: bool = True
    """Whether only blocks of the prompt are stored, none of generated tokens."""
    kv_events: Literal["placeholder", "self-describing"] = "placeholder"
    """Whether the router learns what the tier holds: vLLM's own events do not tell it, self-describing do."""
    link: LinkSettings = LinkSettings()
    """PCIe between the GPU and its host."""


KvRole = Literal["kv_both", "kv_producer", "kv_consumer"]


class DisaggregationSettings(Settings):
    """How prefill and decode workers are joined: vLLM's NixlConnector, the decode side pulls."""

    prefill_kv_role: KvRole = "kv_both"
    """A producer drops what a preempted request was generating, a consumer frees its blocks a step later."""
    decode_kv_role: KvRole = "kv_both"
    """The same on the decode workers: with kv_both a full pool can hang them (vLLM 0.28.0)."""
    connector_order: tuple[Literal["nixl", "offload"], Literal["nixl", "offload"]] = ("nixl", "offload")
    """Children of a prefill worker's MultiConnector, in the order in which they are asked."""
    decode_kv_blocks: PoolBlocks | None = Field(default=None, ge=2, le=MOST)
    """Blocks of a decode worker's pool; unset: as many as a prefill worker's."""
    lease_s: Seconds = 30.0
    """How long a prefill worker keeps blocks that nobody reads."""
    heartbeat_interval_s: Seconds = 5.0
    """A decode worker says this often that it still wants blocks it waits for; 0: never."""
    lease_extension_s: Seconds = 20.0
    """How long blocks are kept after such a heartbeat at least."""
    network: NetworkSettings = NetworkSettings()
    """The links that pulls go over."""
    placement: PlacementSettings = PlacementSettings()
    """Which node each worker stands on."""
    kv_load_failure_policy: Literal["fail", "recompute"] = "fail"
    """What a decode worker does with a request whose pull has failed: vLLM's own choice is to fail it."""
    conditional: ConditionalDisaggSettings | None = None
    """Whether some requests skip the prefill workers; unset: none does."""

    @model_validator(mode="after")
    def _each_connector_once(self) -> Self:
        if len({*self.connector_order}) != 2:
            raise ValueError('connector_order names "nixl" and "offload" once each, in either order')
        return self


class RouterSettings(RouterConfig):
    """Dynamo's router, with the block size it was started with."""

    block_size: Count | None = None
    """Tokens of a block that the router hashes; unset: the engine's. Any other would never match."""


class FrontendSettings(FrontendLimits):
    """The front door. Unset times are those of the coefficients for model and GPU, see `calibration/`."""

    alpha_in_s: Seconds | None = None
    """From the client to the routing choice, for each request."""
    alpha_in_s_per_token: Seconds | None = None
    """The same, for each token of the prompt: tokenising."""
    alpha_out_s: Seconds | None = None
    """From the engine's output back to the client."""
    dispatch_s: Seconds = 1e-3
    """From the routing choice to the worker's queue."""
    event_delay_s: Seconds = 0.2e-3
    """From a worker's KV event to the router's index."""


class OutputSettings(Settings):
    """What a run keeps beside its summary and the table of requests."""

    tables: tuple[Literal["decisions", "workers"], ...] = ("decisions", "workers")
    """Further tables that `--out` writes: every routing decision, and each worker over time."""
    worker_interval_s: Seconds = 1.0
    """Simulated time between two rows of a worker in table "workers", once it gets long: the first 1,000
    changes of a worker are all kept if there are no more. 0: a row at every change."""
