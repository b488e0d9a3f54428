"""The router's settings: Dynamo 1.5.0's names (without the `router_` prefix), defaults and units."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.base.bounds import LONGEST_S, Weight
from sim.base.known_name import KnownName
from sim.router.affinity import AffinitySettings
from sim.router.busy import BusySettings
from sim.router.index_settings import IndexSettings
from sim.router.overrides import NO_OVERRIDES, Overrides, replace_alias
from sim.router.policies import POLICIES
from sim.router.policies.options import PolicyOptions
from sim.router.preset import apply_load_aware
from sim.router.queue.settings import QueueSettings
from sim.router.renamed import apply_renamed
from sim.router.replicas import ReplicaSettings
from sim.router.rules import Version

PolicyName = Annotated[str, KnownName(lambda: [*POLICIES])]
"""A name in `sim.router.policies.POLICIES`."""
PrefillLoadModel = Literal["none", "aic"]


def _as_text(value: object) -> object:
    """Return a number as it is written: 1.5 without quotes is meant as "1.5"."""
    return str(value) if isinstance(value, float) else value


class RouterConfig(
    IndexSettings, QueueSettings, AffinitySettings, BusySettings, ReplicaSettings, PolicyOptions
):
    """What one router is told at its start. Weights and scales are finite; blocks are router blocks."""

    version: Annotated[Version, BeforeValidator(_as_text)] = "1.5"
    """Whose rules hold where releases of Dynamo differ."""
    policy: PolicyName = "kv"
    """Who chooses: `kv` takes the least of Dynamo's costs. An index of what workers hold is kept for it, and
    for every other policy that reads caches."""
    overlap_score_credit: Weight = 1.0
    """Prefill blocks forgiven for each block of overlap on the device. 0: no index is built at all."""
    overlap_score_credit_decay: Weight = 0.0
    """How fast the device credit shrinks with a worker's booked prefill above the least; 1 halves it at one
    prompt's worth."""
    prefill_load_scale: Weight = 1.0
    """Weight of a prefill block against a decode block."""
    host_cache_hit_weight: float = Field(default=0.75, ge=0, le=1, allow_inf_nan=False)
    """Prefill blocks forgiven for each block of overlap in the host tier."""
    disk_cache_hit_weight: float = Field(default=0.25, ge=0, le=1, allow_inf_nan=False)
    """Prefill blocks forgiven for each block of overlap in the disk tier."""
    decode_active_request_weight: Weight = 0.0
    """Decode blocks that each running request counts for, beside its blocks."""
    temperature: Weight = 0.0
    """0: the cheapest worker. Above: a draw by softmax of the costs, normalised by their range."""
    assume_kv_reuse: bool = True
    """Whether running requests share blocks of equal prefixes. False: each request's blocks are its own."""
    track_active_blocks: bool = True
    """Whether the blocks of running requests count. False: no decode blocks in the cost."""
    track_prefill_tokens: bool = True
    """Whether prompt tokens count until the first token. False: no prefill blocks in the cost, and the credit
    of a decode worker comes off its decode blocks."""
    track_output_blocks: bool = False
    """Whether generated tokens add blocks to the booked load (they need `track_active_blocks`)."""
    active_request_expiry_secs: float = Field(default=300.0, ge=1, le=LONGEST_S, allow_inf_nan=False)
    """Seconds from one scan of the bookings to the next. A scan frees those of which nothing was heard since
    the scan before: not that it was booked, no chunk of its answer. A request that streams is never freed."""
    overlap_score_weight: Weight | None = Field(default=None, json_schema_extra={"deprecated": True})
    """Deprecated. Sets `prefill_load_scale`, and at 0 also `overlap_score_credit` to 0; wins over both."""
    load_aware: bool = False
    """Dynamo's preset `--load-aware`: load alone decides. No credit, no KV events, no predictions, no shared
    cache, blocks and prefill tracked, no reuse between requests assumed, whatever else is said of these."""
    prefill_load_model: PrefillLoadModel = "none"
    """How booked prompt tokens count until the first token. "none": all of them. "aic" ("ais" in 1.6): they
    fade over the time that the prompt should take. Dynamo asks AIConfigurator for that, here the step time of
    the scenario's own workers tells it (of the prefill workers, if there are any)."""
    tracking_hash: Literal["public-xxh3-v1", "keyed-xxh3-v1"] = "public-xxh3-v1"
    """How Dynamo names the blocks of running requests. Without effect here: equal prefixes are equal."""
    prefill_policy: PolicyName | None = None
    """Who chooses in the prefill pool of a disaggregated cluster; unset: `policy`."""
    decode_policy: PolicyName | None = None
    """Who chooses in its decode pool; unset: `policy`."""
    overrides: Overrides = NO_OVERRIDES
    """Settings that every request carries with it, as a direct caller of Dynamo's router may send them; what
    comes through the frontend has none. Which of them count is a matter of `version`."""

    @property
    def hears_growth(self) -> bool:
        """Whether the router wants to know of every block that an answer grows by."""
        return self.track_output_blocks or self.follows_answers

    @model_validator(mode="before")
    @classmethod
    def _by_other_names(cls, data: Any) -> Any:
        return apply_renamed(apply_load_aware(replace_alias(data)))
