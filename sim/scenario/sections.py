"""The sections of a scenario that join the rooms' own settings to a cluster.

Keys that are vLLM's or Dynamo's keep their names.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sim.base.bounds import MOST, Count
from sim.base.errors import InputError
from sim.base.known_name import KnownName
from sim.base.settings import Settings
from sim.base.units import Bytes, Seconds
from sim.engine.settings import PoolBlocks
from sim.hardware.parallel import Engines, Parallel, cluster_name
from sim.kv.offload import POLICIES
from sim.links.placement import PlacementSettings
from sim.links.settings import NetworkSettings
from sim.links.transfer import LinkSettings
from sim.results.within import Within
from sim.router.conditional import ConditionalDisaggSettings
from sim.router.config import RouterConfig
from sim.router.overrides import replace_alias
from sim.router.preset import apply_load_aware
from sim.router.queue.policy_config import PolicyConfig
from sim.router.renamed import from_policy_file
from sim.scenario.faults import FrontendLimits
from sim.scenario.policy_file import read_policy_file, settings_in_policy_file

MOST_WORKERS = 16_384
"""Of a kind: to set up so many takes some 20 s and 1.3 GB."""
Workers = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
ParallelSize = Annotated[int, Field(ge=1, le=1_024)]
EvictionPolicyName = Annotated[str, KnownName(lambda: [*POLICIES])]
"""A name in `sim.kv.offload.POLICIES`."""


class WorkersSettings(Settings):
    """The engines of the cluster, aggregated, or prefill and decode apart, and the GPUs of each.

    Every data-parallel rank of an engine has a scheduler and a KV pool of its own: the router chooses among
    ranks, and results number ranks as workers, engine after engine.
    """

    count: Workers | None = None
    """Aggregated workers: each computes prompts and answers."""
    prefill: Workers | None = None
    """Disaggregated: workers that compute prompts."""
    decode: Workers | None = None
    """Disaggregated: workers that pull the prompts' KV blocks and compute the answers."""
    tensor_parallel: ParallelSize = 1
    """GPUs that share every matrix and the KV heads of an engine (vLLM's `--tensor-parallel-size`)."""
    pipeline_parallel: ParallelSize = 1
    """Stages that share the layers of an engine (`--pipeline-parallel-size`)."""
    data_parallel: ParallelSize = 1
    """Attention ranks of an engine, each with its own scheduler and KV pool (`--data-parallel-size`)."""
    expert_parallel: bool = False
    """Whether each expert stands whole on one GPU of an engine (`--enable-expert-parallel`)."""
    decode_tensor_parallel: ParallelSize | None = None
    """Of a decode worker; unset: as a prefill worker has it."""
    decode_data_parallel: ParallelSize | None = None
    """Of a decode worker; unset: as a prefill worker has it."""
    decode_expert_parallel: bool | None = None
    """Of a decode worker; unset: as a prefill worker has it."""

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if (self.count is None) == (self.prefill is None) or (self.prefill is None) != (self.decode is None):
            raise ValueError("give either count (aggregated workers), or both prefill and decode")
        own = [key for key in type(self).model_fields if key.startswith("decode_")]
        given = [key for key in own if getattr(self, key) is not None]
        if given and not self.decode:
            raise ValueError(f"{', '.join(given)}: there are no decode workers; leave it out")
        return self

    def __str__(self) -> str:
        return cluster_name(self.first, self.then)

    @property
    def parallel(self) -> Parallel:
        """How an aggregated or a prefill worker is spread over GPUs."""
        return Parallel(
            self.tensor_parallel, self.pipeline_parallel, self.data_parallel, self.expert_parallel
        )

    @property
    def decode_parallel(self) -> Parallel:
        """How a decode worker is spread over GPUs."""
        expert = self.decode_expert_parallel
        return Parallel(
            self.decode_tensor_parallel or self.tensor_parallel,
            self.pipeline_parallel,
            self.decode_data_parallel or self.data_parallel,
            self.expert_parallel if expert is None else expert,
        )

    @property
    def first(self) -> Engines:
        """The aggregated or the prefill workers."""
        return Engines(self.count or self.prefill or 0, self.parallel)

    @property
    def then(self) -> Engines:
        """The decode workers; none in an aggregated cluster."""
        return Engines(self.decode or 0, self.decode_parallel)

    @property
    def first_decode(self) -> int:
        """The first rank that decodes, as results number workers: 0 in an aggregated cluster."""
        return self.first.ranks if self.decode else 0

    @property
    def ranks(self) -> int:
        """Ranks of all workers: what the router chooses among and results call workers."""
        return self.first.ranks + self.then.ranks

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return self.first.gpus + self.then.gpus


class OffloadSettings(Settings):
    """The CPU tier of each engine: vLLM's OffloadingConnector."""

    cpu_bytes: Bytes = Field(gt=0)
    """Host memory for KV blocks, for each worker: its GPUs share it, each data-parallel rank has its own."""
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
    return_kv: Literal["host"] | None = None
    """How prefill workers come by the KV of answers: "host" lets decode workers copy prompts and answers to
    host memory, which prefill workers read over the network (vLLM's p2p tier); unset: they compute it."""
    decode_cpu_bytes: Bytes | None = Field(default=None, gt=0)
    """Host memory for that, for each decode worker; unset: as much as a prefill worker's."""
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

    @model_validator(mode="before")
    @classmethod
    def _sections_of_the_file(cls, data: Any) -> Any:
        """Take settings of the router out of a policy file, as out of a table in its place."""
        given = data.get("policy_config") if isinstance(data, dict) else None
        if not isinstance(given, str):
            return data
        try:
            sections = settings_in_policy_file(Path(given))
        except InputError:
            return data  # which is said where its classes are read
        plain = apply_load_aware(replace_alias(data))
        try:
            return from_policy_file(plain | {"policy_config": sections}) | {"policy_config": given}
        except ValueError as error:
            raise ValueError(f"{given}: {error}") from error

    @field_validator("policy_config", mode="after")
    @classmethod
    def _as_the_file_says(cls, given: str | PolicyConfig | None) -> PolicyConfig | None:
        if not isinstance(given, str):
            return given
        try:
            return read_policy_file(Path(given))
        except InputError as error:
            raise ValueError(str(error)) from error


LoadBalancing = Literal["session", "round-robin", "random"]
Loss = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class FrontendSettings(FrontendLimits):
    """The front door. Unset times are those of the coefficients for model and GPU, see `calibration/`."""

    replicas: Annotated[int, Field(ge=1, le=1_024)] = 1
    """How many front ends there are: `replicas` of the Frontend service in a DynamoGraphDeployment. Each has
    routers of its own, which know of no others' bookings unless `router.replica_sync` lets them."""
    load_balancing: LoadBalancing = "session"
    """What stands before several. "session": each session has a connection to any of them and stays there, as
    with a Kubernetes service; "round-robin" and "random" choose anew for every request."""

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
    event_jitter_s: Seconds = 0.0
    """By how much longer that takes at most: a draw between 0 and this for the events of each output, and for
    each front end; those of a worker stay in order."""
    event_loss: Loss = 0.0
    """Chance that the events of an output do not come to a front end."""
    event_loss_recovered: bool = True
    """Dynamo's router sees the gap in their numbers at the next event that arrives, and asks the worker's
    local indexer for what it missed. False: lost for good."""

    @property
    def events_differ(self) -> bool:
        """Whether the KV events of each output have a fate of their own."""
        return bool(self.event_jitter_s or self.event_loss)


class OutputSettings(Settings):
    """What a run keeps beside its summary and the table of requests."""

    tables: tuple[Literal["decisions", "workers"], ...] = ("decisions", "workers")
    """Further tables that `--out` writes: every routing decision, and each worker over time."""
    worker_interval_s: Seconds = 1.0
    """Simulated time between two rows of a worker in table "workers", once it gets long: the first 1,000
    changes of a worker are all kept if there are no more. 0: a row at every change."""
    regret: bool = False
    """Whether every worker's caches are looked into at each routing decision: how many prompt tokens are
    computed that another worker had, of each decision and in all. Changes no other number."""
    within: tuple[str, ...] | None = None
    """Times of requests, such as "ttft_s<3", "by_turn.later.ttft_s<3" or "by_tag.NAME.e2e_s<20": of each the
    summary says, in `within`, which share of the requests keeps it. Unset: of none."""
    time_spent: bool | None = None
    """Whether the summary says what the slowest requests waited for, how many requests decode at once and
    how busy links are, in `time_spent`; unset: it does not."""

    @field_validator("within", mode="after")
    @classmethod
    def _can_be_read(cls, texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        try:
            return texts and tuple(str(Within.read(text, "within")) for text in texts)
        except InputError as error:
            raise ValueError(str(error)) from error
