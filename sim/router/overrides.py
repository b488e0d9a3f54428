"""Settings that a request may carry with it, of those that the router has."""

from typing import Any

from pydantic import Field, model_validator

from sim.base.bounds import Weight
from sim.base.settings import Settings


def replace_alias(data: Any) -> Any:
    """Apply the deprecated `overlap_score_weight`, which wins over the settings that replaced it.

    Settings that have these three validate themselves with it, in mode "before".
    """
    if not isinstance(data, dict) or data.get("overlap_score_weight") is None:
        return data
    weight = data["overlap_score_weight"]
    return data | {"prefill_load_scale": weight} | ({"overlap_score_credit": 0.0} if weight == 0 else {})


class Overrides(Settings):
    """Settings that one request may carry with it; None leaves the router's own."""

    overlap_score_credit: Weight | None = None
    """As in `RouterConfig`, but 0 does not remove the index: cached tokens still count when booking."""
    prefill_load_scale: Weight | None = None
    """As in `RouterConfig`."""
    temperature: Weight | None = None
    """As in `RouterConfig`."""
    shared_cache_multiplier: Weight | None = None
    """As in `RouterConfig`."""
    assume_kv_reuse: bool | None = None
    """As in `RouterConfig`."""
    track_prefill_tokens: bool | None = None
    """As in `RouterConfig`."""
    overlap_score_weight: Weight | None = Field(default=None, json_schema_extra={"deprecated": True})
    """Deprecated, as in `RouterConfig`."""

    _alias = model_validator(mode="before")(replace_alias)


NO_OVERRIDES = Overrides()
