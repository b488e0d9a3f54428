"""Settings that can change nothing, given the others."""

from typing import Any

import pytest

from sim.router import RouterConfig
from sim.router.idle import without_effect

CLASSES = {
    "default_policy_family": "all",
    "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "any"}],
    "policy_classes": [{"name": "one", "policy_family": "all", "cache_bucket": "any", "quantum": 1}],
}


@pytest.mark.parametrize(
    ("settings", "idle"),
    [
        ({}, []),
        (
            {"queue_policy": "wspt", "overlap_refresh_after_secs": 0},
            ["queue_policy", "overlap_refresh_after_secs"],
        ),
        ({"queue_threshold": 2, "queue_policy": "wspt", "overlap_refresh_after_secs": 0}, []),
        (
            {"policy_config": CLASSES, "queue_policy": "wspt", "overlap_refresh_after_secs": 0},
            ["queue_policy"],
        ),
        (
            {"track_prefill_tokens": False, "queue_threshold": 2, "active_prefill_tokens_threshold": 9},
            ["queue_threshold", "active_prefill_tokens_threshold"],
        ),
        (
            {
                "track_prefill_tokens": False,
                "overrides": {"track_prefill_tokens": True},
                "queue_threshold": 2,
            },
            [],
        ),
        ({"queue_threshold": 2, "active_prefill_tokens_threshold": 9, "prefill_load_model": "aic"}, []),
        ({"active_decode_blocks_threshold": 1.0}, ["active_decode_blocks_threshold"]),
        ({"active_decode_blocks_threshold": 0.99}, []),
        ({"session_affinity_mode": "soft"}, ["session_affinity_mode"]),
        ({"session_affinity_mode": "soft", "session_affinity_ttl_secs": 9}, []),
        ({"replica_sync": True, "replica_sync_loss": 0.5}, ["replica_sync", "replica_sync_loss"]),
        ({"ttl_secs": 9, "approximate_cache_policy": "lru"}, ["ttl_secs", "approximate_cache_policy"]),
        ({"ttl_secs": 9, "approximate_cache_policy": "lru", "use_kv_events": False}, []),
        ({"predicted_ttl_secs": 9}, []),
        ({"track_output_blocks": True, "track_active_blocks": False}, ["track_output_blocks"]),
        ({"load_aware": True}, []),
    ],
)
def test_what_cannot_act_is_named(settings: dict[str, Any], idle: list[str]) -> None:
    assert sorted(without_effect(RouterConfig(**settings), front_ends=1)) == sorted(idle)


def test_routers_of_several_front_ends_tell_each_other_something() -> None:
    settings = RouterConfig(replica_sync=True, replica_sync_loss=0.5)
    assert without_effect(settings, front_ends=2) == []
    silent = RouterConfig(replica_sync_loss=0.5)
    assert without_effect(silent, front_ends=2) == ["replica_sync_loss"]
