"""Settings of the router that can change nothing, given the others."""

from collections.abc import Iterator

from sim.router.config import RouterConfig

_DEPENDENTS = {
    "session_affinity_ttl_secs": ("session_affinity_mode",),
    "replica_sync": ("replica_sync_delay_s", "replica_sync_loss"),
}
"""Settings that say how another one acts, by that one, which has to be set."""
_OF_QUEUE = ("queue_policy", "overlap_refresh_after_secs")
_OF_BOOKED_PREFILL = (
    "queue_threshold",
    "active_prefill_tokens_threshold",
    "active_prefill_tokens_threshold_frac",
    "overlap_score_credit_decay",
    "prefill_load_scale",
    "prefill_load_model",
)
_OF_GUESSES = ("ttl_secs", "approximate_cache_policy")


def without_effect(config: RouterConfig, *, front_ends: int) -> list[str]:
    """Return the keys that are not at their default and could be: no request would go elsewhere or wait."""
    fields = type(config).model_fields
    idle = dict.fromkeys(_idle(config, front_ends=front_ends))
    return [key for key in idle if getattr(config, key) != fields[key].default]


def _idle(config: RouterConfig, *, front_ends: int) -> Iterator[str]:
    if not config.has_queue:
        yield from _OF_QUEUE
    elif config.policy_config is not None:  # its classes have policies of their own
        yield "queue_policy"
    if not config.track_prefill_tokens and config.overrides.track_prefill_tokens is not True:
        yield from _OF_BOOKED_PREFILL
    if config.active_decode_blocks_threshold == 1:  # workers are busy above it
        yield "active_decode_blocks_threshold"
    for key, dependents in _DEPENDENTS.items():
        if not getattr(config, key):
            yield from dependents
    if front_ends == 1:
        yield from ("replica_sync", *_DEPENDENTS["replica_sync"])
    if config.use_kv_events:
        yield from _OF_GUESSES
    else:
        yield "predicted_ttl_secs"
    if not config.track_active_blocks:
        yield "track_output_blocks"
