"""`--set`: any key of a scenario from the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.base.errors import InputError
from sim.scenario.load import load_scenario
from sim.scenario.overrides import apply, as_texts, parse_override
from sim.scenario.scenario import Scenario

SCHEMA = Scenario.model_json_schema()


def changed(data: dict[str, Any], *texts: str) -> dict[str, Any]:
    apply(data, [parse_override(text, SCHEMA) for text in texts])
    return data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("workload.sessions=28", 28),
        ("workload.sessions = 28", 28),
        ("offload.cpu_bytes=64GiB", "64GiB"),
        ('offload.cpu_bytes="64GiB"', "64GiB"),
        ("workload.path=../a=b.jsonl.gz", "../a=b.jsonl.gz"),
        ("router.temperature=0.5", 0.5),
        ("engine.async_scheduling=false", False),
        ("output.tables=['workers']", ["workers"]),
        ("slo={ttft_s = '1s'}", {"ttft_s": "1s"}),
        ("offload=none", None),
        ('title="none"', "none"),
        ("title=", ""),
        ("title=a\nseed = 3", "a\nseed = 3"),
        ("title='a'\nseed = 3", "'a'\nseed = 3"),
    ],
)
def test_a_value_is_toml_where_it_can_be_and_a_string_elsewhere(text: str, value: object) -> None:
    override = parse_override(text, SCHEMA)
    assert override.value == value
    assert type(override.value) is type(value)
    assert override.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "workload.sesions=3",
            "unknown key; did you mean 'sessions'? (known: break_prefix, chunk_tokens, format",
        ),
        (
            "worklod.sessions=3",
            "unknown key; did you mean 'workload'? (known: disaggregation, engine, faults, frontend",
        ),
        ("sessions=3", "unknown key; did you mean 'workload.sessions'? (known here: disaggregation, engine"),
        ("model.kv_dtyp=fp8", "unknown key; did you mean 'kv_dtype'?"),
        ("model.presets=x", "unknown key; did you mean 'preset'?"),
        ("gpu.achieved.fp8=1", "unknown key (known here: bf16_dense"),
        ("seed.x=1", "unknown key: seed is a value, not a table"),
        ("workload.sessions", "write it as key=value"),
        ("=3", "write it as key=value"),
        ("workload.=3", "write it as key=value"),
    ],
)
def test_an_unusable_override_says_why(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_override(text, SCHEMA)
    assert str(caught.value).startswith(f"--set {text}: ")
    assert message in str(caught.value)


def test_tables_are_made_where_there_are_none_and_the_last_value_counts() -> None:
    assert changed({}, "offload.link.latency_s=1us", "seed=1", "seed=2") == {
        "offload": {"link": {"latency_s": "1us"}},
        "seed": 2,
    }


def test_a_preset_named_by_a_string_becomes_a_table_to_change() -> None:
    assert changed({"model": "a", "gpu": "b"}, "model.kv_dtype=fp8", "gpu.achieved.fp8_dense=0.5") == {
        "model": {"preset": "a", "kv_dtype": "fp8"},
        "gpu": {"preset": "b", "achieved": {"fp8_dense": 0.5}},
    }
    assert changed({"model": "a.json"}, "model.kv_dtype=fp8")["model"] == {
        "config": "a.json",
        "kv_dtype": "fp8",
    }


@pytest.mark.parametrize(
    ("section", "overrides", "left"),
    [
        (
            {"profile": "talk", "turns": 20, "window": "first", "sessions": 3},
            ["workload.path=x"],
            {"path": "x"},
        ),
        # A file is taken as a whole unless the same change says otherwise.
        (
            {"profile": "talk", "sessions": 3},
            ["workload.sessions=9", "workload.path=x"],
            {"path": "x", "sessions": 9},
        ),
        ({"path": "x", "sessions": 3}, ["workload.path=y"], {"path": "y"}),
        (
            {"path": "x", "format": "mooncake", "chunk_tokens": 512},
            ["workload.sessions=3", "workload.profile=kct"],
            {"profile": "kct", "sessions": 3},
        ),
        # What the command line itself says is never dropped in silence.
        (
            {"profile": "talk", "turns": 20},
            ["workload.turns=5", "workload.path=x"],
            {"path": "x", "turns": 5},
        ),
        (
            {"path": "x", "format": "mooncake"},
            ["workload.profile=none"],
            {"path": "x", "format": "mooncake", "profile": None},
        ),
    ],
)
def test_a_new_source_takes_out_what_belongs_to_the_old_one(
    section: dict[str, Any], overrides: list[str], left: dict[str, Any]
) -> None:
    assert changed({"workload": section}, *overrides) == {"workload": left}


def test_a_preset_takes_the_place_of_a_configuration() -> None:
    assert changed({"model": "a.json"}, "model.preset=b")["model"] == {"config": "a.json", "preset": "b"}
    assert changed({"model": {"config": "a.json"}}, "model.preset=b")["model"] == {"preset": "b"}


def test_every_key_of_the_schema_can_be_set() -> None:
    overrides = (
        "title=t",
        "seed=7",
        "workload.max_think_s=1s",
        "replay.speedup=2",
        "model.kv_dtype=bf16",
        "gpu.achieved.weight_read=0.9",
        "workers.count=2",
        "disaggregation.network.roce.latency_s=1ms",
        "engine.kv_blocks=1,000",
        "offload.link.bandwidth_bytes_per_s=20GB/s",
        "router.temperature=0.1",
        "frontend.dispatch_s=2ms",
        "hosts.client_s_per_token=0.1us",
        "timing.t_floor_s=10ms",
        "slo.ttft_s=2s",
        "output.tables=[]",
        'faults=[{kind="worker-dies",worker=0,at_s=1}]',
    )
    scenario = load_scenario("agg8", overrides)
    assert {override.split("=")[0].split(".")[0] for override in overrides} == set(Scenario.model_fields)
    assert (scenario.title, scenario.seed, scenario.workers.count) == ("t", 7, 2)
    assert (scenario.workload.max_think_s, scenario.replay.speedup) == (1.0, 2.0)
    assert (scenario.model.kv_dtype, scenario.model.max_model_len) == ("bf16", 1_000_000)
    assert (scenario.gpu.achieved.weight_read, scenario.engine.kv_blocks) == (0.9, 1000)
    assert scenario.offload is not None
    assert scenario.offload.link.bandwidth_bytes_per_s == 20e9
    assert (scenario.router.temperature, scenario.frontend.dispatch_s) == (0.1, 2e-3)
    assert (scenario.timing.t_floor_s, scenario.output.tables) == (10e-3, ())
    assert scenario.slo is not None
    assert scenario.slo.limits() == {"ttft_s": 2.0}


def test_none_takes_the_cpu_tier_out() -> None:
    assert load_scenario("agg8", ["offload=none"]).offload is None


# From Python


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (28, "28"),
        (0.25, "0.25"),
        (True, "true"),
        (None, "none"),
        ("64GiB", "64GiB"),
        ("none", '"none"'),
        ("28", '"28"'),
        ("", '""'),
        ("a,b", '"a,b"'),
        (Path("a") / "b.jsonl", '"a/b.jsonl"'),
        (["workers"], '["workers"]'),
        ({"ttft_s": "1s", "e2e_s": 2}, '{"ttft_s" = "1s", "e2e_s" = 2}'),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
    ],
)
def test_a_value_by_key_is_written_so_that_it_reads_as_the_same(value: object, text: str) -> None:
    (written,) = as_texts({"title": value})
    assert written == f"title={text}"
    read = parse_override(written, SCHEMA).value
    assert read == (str(value) if isinstance(value, Path) else value)


def test_texts_are_left_as_they_are() -> None:
    assert as_texts(["seed=1", "workload.sessions=4:8:2"]) == ["seed=1", "workload.sessions=4:8:2"]
    assert as_texts("seed=1") == ["seed=1"]
    assert as_texts(()) == []


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 0.5, 1], "0,0.5,1"),
        (("kv", "round-robin"), "kv,round-robin"),
        (range(4, 13, 4), "4,8,12"),
        (np.linspace(0, 1, 3), "0.0,0.5,1.0"),
        ([["workers"], []], '["workers"],[]'),
        (["64GiB", None], "64GiB,none"),
        ("0:2:0.25", "0:2:0.25"),
        (3, "3"),
    ],
)
def test_several_values_are_points_where_there_may_be_some(values: object, text: str) -> None:
    assert as_texts({"key": values}, points=True) == [f"key={text}"]


def test_values_that_no_key_can_have_are_refused() -> None:
    with pytest.raises(InputError, match="seed: is given without a value"):
        as_texts({"seed": []}, points=True)
    with pytest.raises(InputError, match=r"seed: .* is a object; give text, a number, a flag or a list"):
        as_texts({"seed": object()})


@pytest.mark.parametrize("overrides", [5, [5], [("seed", 1)]])
def test_what_is_neither_text_nor_values_by_key_is_refused(overrides: Any) -> None:
    with pytest.raises(InputError, match=r"overrides .*: give texts such as"):
        as_texts(overrides)
