"""Where a router learns which worker holds what (Dynamo 1.5.0)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import LONGEST_S, Weight
from sim.base.settings import Settings

Ttl = Annotated[float, Field(gt=0, le=LONGEST_S, allow_inf_nan=False)]


class IndexSettings(Settings):
    """What the index is made from, and what a cache beside the workers' own counts for."""

    use_kv_events: bool = True
    """Whether workers tell what they hold. False: the router takes what it sent to a worker to be there, as
    `approximate_cache_policy` says."""
    ttl_secs: Ttl = 120.0
    """Without KV events: how long the blocks of a prompt are taken to be where it was sent. Another request
    that sends them there starts that anew."""
    approximate_cache_policy: Literal["ttl", "lru"] = "ttl"
    """Without KV events: blocks leave after `ttl_secs`, or, least recently used first, when the worker's pool
    is full; then what a request generates is there as well. Experimental in Dynamo."""
    predicted_ttl_secs: Ttl | None = None
    """Beside KV events: how long the blocks of a prompt are taken to be where it was sent, whatever events
    say. Unset: they count when the worker has told of them."""
    event_threads: int = Field(default=4, ge=1, le=1024)
    """Threads of Dynamo's index. Without effect here: events are applied in order, in no time."""
    shared_cache_type: Literal["none", "hicache"] = "none"
    """A cache outside the workers that all of them may read. No simulated worker has one: with "hicache" its
    overlap is 0."""
    shared_cache_multiplier: Weight = 0.5
    """Prefill blocks forgiven for each block found in the shared cache beyond the overlap on the device."""

    @model_validator(mode="after")
    def _predictions_need_events(self) -> Self:
        if self.predicted_ttl_secs is not None and not self.use_kv_events:
            raise ValueError(
                "predicted_ttl_secs goes beside KV events, and use_kv_events is false: leave it out, and "
                "give ttl_secs instead"
            )
        return self

    @property
    def follows_answers(self) -> bool:
        """Whether the index wants to know what requests generate."""
        return not self.use_kv_events and self.approximate_cache_policy == "lru"
