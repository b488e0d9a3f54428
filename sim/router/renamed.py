"""Settings by the names and in the places that Dynamo 1.6 has for them."""

from typing import Any, Final

from sim.router.preset import LOAD_AWARE

SHARED: Final = {
    "host_cache_hit_weight",
    "disk_cache_hit_weight",
    "use_kv_events",
    "router_replica_sync",
    "track_active_blocks",
    "track_output_blocks",
    "assume_kv_reuse",
    "track_prefill_tokens",
    "tracking_hash",
    "prefill_load_model",
    "ttl_secs",
    "approximate_cache_policy",
    "event_threads",
    "enable_session_prefix_index",
    "shared_cache_type",
    "predicted_ttl_secs",
}
"""What the section `router:` of a policy file may set; there it wins over flags and `load_aware`."""
SECTIONS: Final = {"router", "worker_selection"}
"""Of a policy file, besides classes: their contents are settings of the router."""
DEFAULT_COST: Final = "dynamo-default-cost-fn"
"""1.6's name of the selector that takes the least cost; 1.5 refuses it."""
POLICIES_OF_POOLS: Final = {"prefill": "prefill_policy", "decode": "decode_policy"}


def apply_renamed(data: Any) -> Any:
    """Return settings by the names of 1.5; what only 1.6 knows is refused where `version` is another one.

    Settings that have `version` validate themselves with it, in mode "before".

    Raises:
        ValueError: 1.5 does not know a name, or 1.6 has no such setting in that place.
    """
    if not isinstance(data, dict):
        return data
    known = _knows_1_6(data)
    data = from_policy_file(data)
    for key in ("policy", "prefill_policy", "decode_policy"):
        if data.get(key) == DEFAULT_COST:
            data = data | {key: _of_1_6("kv", f'{key} = "{DEFAULT_COST}"', known=known)}
    if data.get("prefill_load_model") == "ais":
        data = data | {
            "prefill_load_model": _of_1_6("aic", 'prefill_load_model = "ais"', known=known, older='"aic"')
        }
    if "enable_session_prefix_index" in data:  # nothing reads it there either
        _of_1_6(None, "enable_session_prefix_index", known=known)
        data = {key: value for key, value in data.items() if key != "enable_session_prefix_index"}
    return data


def _of_1_6(value: str | None, name: str, *, known: bool, older: str | None = None) -> str | None:
    if not known:
        instead = f", or call it {older}" if older else ""
        raise ValueError(f'{name} is of Dynamo 1.6: set version = "1.6"{instead}')
    return value


def _knows_1_6(data: dict[str, Any]) -> bool:
    return str(data.get("version", "1.5")) == "1.6"


def from_policy_file(data: dict[str, Any]) -> dict[str, Any]:
    """Take the selectors of pools, and the shared settings that 1.6 has there, out of the table of classes.

    If they set something that the preset `load_aware` sets too, the preset is only what it left of itself:
    it would win when the settings are read again.

    Raises:
        ValueError: 1.5 does not know a section, or it has no such setting.
    """
    table = data.get("policy_config")
    if not isinstance(table, dict) or not table.keys() & SECTIONS:
        return data
    if "router" in table:
        _of_1_6(None, "policy_config.router", known=_knows_1_6(data))
    shared, selection = table.get("router") or {}, table.get("worker_selection") or {}
    for place, given, allowed in (
        ("router", shared, SHARED),
        ("worker_selection", selection, POLICIES_OF_POOLS.keys()),
    ):
        if not isinstance(given, dict) or given.keys() - allowed:
            raise ValueError(f"policy_config.{place} may have {', '.join(sorted(allowed))}, not {given}")
    rest = {key: value for key, value in table.items() if key not in SECTIONS}
    moved = {key.removeprefix("router_"): value for key, value in shared.items()}
    chosen = {POLICIES_OF_POOLS[pool]: name for pool, name in selection.items()}
    preset = (
        {"load_aware": False} if data.get("load_aware") is True and moved.keys() & LOAD_AWARE.keys() else {}
    )
    return data | {"policy_config": rest or None} | moved | chosen | preset
