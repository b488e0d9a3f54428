"""Keys, their places and their descriptions, from a JSON Schema."""

from sim.scenario.scenario import Scenario
from sim.scenario.schema import description, keys_at, known_part, unknown_key

SCHEMA = {
    "properties": {
        "seed": {"description": "A number."},
        "link": {"$ref": "#/$defs/Link"},
        "tier": {"anyOf": [{"$ref": "#/$defs/Tier"}, {"type": "null"}]},
    },
    "$defs": {
        "Link": {"properties": {"latency": {"description": "How long."}}},
        "Tier": {"properties": {"size": {}, "link": {"$ref": "#/$defs/Link"}}},
    },
}


def test_keys_of_tables_by_reference_and_of_optional_ones() -> None:
    assert keys_at(SCHEMA, ()) == ["seed", "link", "tier"]
    assert keys_at(SCHEMA, ("tier",)) == ["size", "link"]
    assert keys_at(SCHEMA, ("tier", "link")) == ["latency"]
    assert keys_at(SCHEMA, ("seed",)) == keys_at(SCHEMA, ("no", "where")) == []


def test_the_part_of_a_path_that_exists() -> None:
    assert known_part(SCHEMA, ("tier", "link", "latency")) == ("tier", "link", "latency")
    assert known_part(SCHEMA, ("tier", "lonk", "latency")) == ("tier",)
    assert known_part(SCHEMA, ("seed", "x")) == ("seed",)
    assert known_part(SCHEMA, ("sed",)) == ()


def test_an_unknown_key_is_near_another_or_at_another_place_or_nowhere() -> None:
    assert unknown_key(SCHEMA, ("sed",)) == "unknown key; did you mean 'seed'? (known: link, seed, tier)"
    assert unknown_key(SCHEMA, ("latency",)) == (
        "unknown key; did you mean 'link.latency'? (known here: link, seed, tier)"
    )
    assert unknown_key(SCHEMA, ("xyz",)) == "unknown key (known here: link, seed, tier)"
    assert unknown_key(SCHEMA, ("seed", "x")) == "unknown key: seed is a value, not a table"


def test_descriptions() -> None:
    assert description(SCHEMA, ("seed",)) == "A number."
    assert description(SCHEMA, ("tier", "link", "latency")) == "How long."
    assert description(SCHEMA, ("link",)) == ""


def test_the_scenario_s_own_schema_is_walked_through_presets() -> None:
    schema = Scenario.model_json_schema()
    assert {"preset", "config", "kv_dtype"} <= set(keys_at(schema, ("model",)))
    assert "fp8_dense" in keys_at(schema, ("gpu", "achieved"))
    assert "bandwidth_bytes_per_s" in keys_at(schema, ("offload", "link"))


def test_a_key_of_another_kind_is_unknown_to_this_one() -> None:
    schema = Scenario.model_json_schema()
    text = unknown_key(schema, ("workload", "synthetic", "xyz"), "rows")
    assert text.startswith(
        "unknown key (known here: arrivals, chunk_tokens, common_tokens, families, grain_s"
    )
    assert "passages" not in text
