"""The JSON Schema of a scenario says what loading says."""

import json

import pytest
from jsonschema import Draft202012Validator

from sim.base.shipped import read_toml, scenario_names, scenario_path
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario

SCHEMA = Scenario.model_json_schema()


def test_the_schema_is_a_schema_and_accepts_what_is_shipped_and_what_is_written() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for name in scenario_names():
        validator.validate(read_toml(scenario_path(name)))
        validator.validate(json.loads(load_scenario(name).model_dump_json(exclude_none=True)))


@pytest.mark.parametrize(
    "content",
    [
        {"sed": 1},
        {"workers": {"count": 0}},
        {"workers": {"count": 100_000}},
        {"offload": {"cpu_bytes": "64 parsecs"}},
        {"model": {"preset": "qwen3-14b-bf16", "kv_dtyp": "fp8"}},
        {"router": {"policy": "kw"}},
    ],
)
def test_the_schema_refuses_what_loading_refuses(content: dict[str, object]) -> None:
    good = read_toml(scenario_path("agg8"))
    assert not Draft202012Validator(SCHEMA).is_valid(good | content)


def test_every_key_is_described() -> None:
    tables = {"Scenario": SCHEMA, **SCHEMA["$defs"]}
    missing = [
        f"{name}.{key}"
        for name, table in tables.items()
        for key, about in table.get("properties", {}).items()
        if not about.get("description")
    ]
    assert not missing
