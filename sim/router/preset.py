"""Dynamo's preset `--load-aware`: load alone decides."""

from typing import Any, Final

LOAD_AWARE: Final = {
    "overlap_score_credit": 0.0,
    "use_kv_events": False,
    "predicted_ttl_secs": None,
    "shared_cache_type": "none",
    "track_active_blocks": True,
    "track_prefill_tokens": True,
    "assume_kv_reuse": False,
}
"""What the preset `load_aware` sets."""


def apply_load_aware(data: Any) -> Any:
    """Apply the preset, which wins over the settings that it sets."""
    return data | LOAD_AWARE if isinstance(data, dict) and data.get("load_aware") is True else data
