"""What a user writes becomes a scenario, or one readable message a problem."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.base.errors import InputError
from sim.base.shipped import preset_names, scenario_names, scenario_path
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from tests.scenarios import MINIMAL, refusal


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "mine.toml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# What is shipped


def test_agg8_is_the_cluster_of_the_talk_in_about_25_lines() -> None:
    agg8 = load_scenario("agg8")
    assert agg8.workers.count == 8
    assert (agg8.model.name, agg8.gpu.name, agg8.max_model_len) == ("qwen3.8-27b-fp8", "h100-80gb", 1_000_000)
    assert agg8.offload is not None
    assert agg8.offload.cpu_bytes == 64 * 2**30
    assert agg8.offload.kv_events == "placeholder"
    assert (agg8.replay.client, agg8.replay.max_concurrency) == ("max-concurrency", "sessions")
    assert agg8.router == type(agg8.router)()
    assert (agg8.engine.max_num_batched_tokens, agg8.engine.max_num_seqs) == (8192, 1024)
    assert (agg8.frontend.dispatch_s, agg8.frontend.event_delay_s) == (1e-3, 0.2e-3)
    assert agg8.capacity().num_blocks == 1635
    assert agg8.block_tokens == 800
    assert len(scenario_path("agg8").read_text().splitlines()) <= 30


def test_agg4_differs_from_agg8_in_its_workers_only() -> None:
    agg4, agg8 = load_scenario("agg4").model_dump(), load_scenario("agg8").model_dump()
    assert agg4.pop("workers")["count"] == 4
    assert agg8.pop("workers")["count"] == 8
    assert agg4.pop("title") != agg8.pop("title")
    assert agg4 == agg8


@pytest.mark.parametrize("name", scenario_names())
def test_the_written_out_scenario_reads_back_equal(name: str, write) -> None:
    scenario = load_scenario(name)
    assert load_scenario(write(scenario.to_toml())) == scenario


positive = st.floats(1.0, 1e15)
contents = st.fixed_dictionaries(
    {
        "title": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "workload": st.fixed_dictionaries({"profile": st.just("talk"), "sessions": st.integers(1, 10**6)}),
        "model": st.sampled_from(["llama-3.1-8b-bf16", {"preset": "qwen3.8-27b-fp8", "max_model_len": "1M"}]),
        "gpu": st.fixed_dictionaries(
            {"preset": st.just("h100-80gb"), "memory_bandwidth_bytes_per_s": positive}
        ),
        "workers": st.just({"count": 3}),
        "offload": st.none()
        | st.fixed_dictionaries(
            {"cpu_bytes": st.just("1GiB"), "link": st.builds(lambda x: {"latency_s": x}, st.floats(1.0, 1e9))}
        ),
        "router": st.builds(lambda x: {"overlap_score_weight": x}, st.none() | st.floats(0, 1e9)),
        "frontend": st.builds(lambda x: {"event_delay_s": x}, st.floats(0, 1e-3)),
    }
)


@given(content=contents)
@settings(deadline=None, max_examples=50)
def test_any_scenario_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, object]
) -> None:
    scenario = Scenario.model_validate(content)
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(scenario.to_toml(), encoding="utf-8")
    assert load_scenario(path) == scenario


# What a file may say


def test_what_is_left_out_has_defaults_and_the_title_of_the_file(write) -> None:
    scenario = load_scenario(write(MINIMAL))
    assert scenario.title == "mine"
    assert (scenario.seed, scenario.offload, scenario.slo) == (0, None, None)
    assert scenario.block_tokens == 16
    assert scenario.max_model_len == scenario.model.max_model_len == 40_960


def test_human_units_are_accepted_everywhere(write) -> None:
    scenario = load_scenario(
        write(
            MINIMAL
            + '[offload]\ncpu_bytes = "64GiB"\nlink = { bandwidth_bytes_per_s = "100Gbps" }\n'
            + '[frontend]\nevent_delay_s = "250ms"\n[slo]\nttft_s = "2min"\n'
        )
    )
    assert scenario.offload is not None
    assert scenario.offload.cpu_bytes == 64 * 2**30
    assert scenario.offload.link.bandwidth_bytes_per_s == 12.5e9
    assert scenario.frontend.event_delay_s == 0.25
    assert scenario.slo is not None
    assert scenario.slo.ttft_s == 120.0


@pytest.mark.parametrize("written", ["1635", '"1635"', '"1,635"'])
def test_kv_blocks_are_given_as_the_engine_log_has_them(write, written: str) -> None:
    scenario = load_scenario(write(MINIMAL + f"[engine]\nkv_blocks = {written}\n"))
    assert scenario.capacity().num_blocks == 1635
    assert scenario.capacity().blocks_given


def test_the_engine_may_serve_less_than_the_model_could() -> None:
    scenario = load_scenario("agg8", ["engine.max_model_len=262144"])
    assert scenario.max_model_len == 262_144
    assert scenario.model.max_model_len == 1_000_000
    assert scenario.capacity().max_concurrency == pytest.approx(1635 / (328 + 6))


def test_a_file_starts_relative_paths_at_its_folder_and_an_override_at_the_current_one(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("scenarios", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "trace.jsonl").touch()
    text = MINIMAL.replace('profile = "kct"', 'path = "trace.jsonl"')
    path = write(text, "scenarios/mine.toml")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_scenario(path).workload.path == tmp_path / "scenarios/trace.jsonl"
    found = load_scenario(path, ["workload.path=trace.jsonl"])
    assert found.workload.path == tmp_path / "elsewhere/trace.jsonl"
    assert load_scenario(write(found.to_toml())) == found


def test_a_hugging_face_configuration_stands_beside_the_scenario(write, tmp_path: Path) -> None:
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2}
    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers"), 64)
    content = {**heads, **sizes, "max_position_embeddings": 4096, "dtype": "bfloat16"}
    (tmp_path / "config.json").write_text(json.dumps(content))
    scenario = load_scenario(write(MINIMAL.replace("qwen3-14b-bf16", "config.json")), ["model.kv_dtype=fp8"])
    assert (scenario.model.full_attention_layers, scenario.model.kv_dtype) == (64, "fp8")


def test_the_folder_of_a_hugging_face_configuration_is_a_model(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers"), 64)
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2}
    content = {**sizes, **heads, "max_position_embeddings": 4096, "dtype": "bfloat16"}
    (tmp_path / "mine/model").mkdir(parents=True)
    (tmp_path / "mine/model/config.json").write_text(json.dumps(content))
    in_file = load_scenario(write(MINIMAL.replace("qwen3-14b-bf16", "mine/model")))
    monkeypatch.chdir(tmp_path)
    for name in ("mine/model", "./mine/model", "mine/model/", str(tmp_path / "mine/model")):
        assert load_scenario(write(MINIMAL), [f"model={name}"]).model == in_file.model
    changed = load_scenario(write(MINIMAL), ["model=mine/model", "model.kv_dtype=fp8"])
    assert (changed.model.full_attention_layers, changed.model.kv_dtype) == (64, "fp8")


# What a file may not say


@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ("seed = -1", 3, "seed = -1: must be greater than or equal to 0"),
        ("sed = 1", 3, "sed: unknown key; did you mean 'seed'?"),
        ("[ofload]", 3, "ofload: unknown key; did you mean 'offload'?"),
        ("[engine]\nkv_block = 3", 4, "engine.kv_block: unknown key; did you mean 'kv_blocks'?"),
        ('[engine]\nkv_blocks = "many"', 4, "engine.kv_blocks = 'many': must be a valid integer"),
        ("[engine]\n\nwatermark = 1.0", 5, "engine.watermark = 1.0: must be less than 1"),
        ('[offload]\ncpu_bytes = "64Gbps"', 4, "offload.cpu_bytes: '64Gbps' is not a size: give a whole"),
        ('offload = { cpu_bytes = "1GiB", link = { latency_s = "3m" } }', 3, "'3m' is not a time"),
        ("[offload]\neviction_policy = 'lru'", 3, "offload.cpu_bytes: is missing: Host memory for KV"),
        ("offload = 64", 3, "offload = 64: must be a table of keys"),
        ("[router]\nblock_size = 64", 4, "router.block_size = 64: the engine's blocks have 16 tokens"),
        (
            "[router]\npolicy = 'kw'",
            4,
            "router.policy = 'kw': must be 'consistent-hash-bounded', 'dynamo-two-tier', 'kv'",
        ),
        ("[replay]\nmax_concurrency = 'all'", 4, "to parse string as an integer, or must be 'sessions'"),
        ("[slo]", 3, "slo: an SLO needs at least one of ttft_s, tpot_s, e2e_s"),
        ("[output]\ntables = ['steps']", 4, "output.tables = 'steps': must be 'decisions' or 'workers'"),
    ],
)
def test_a_problem_has_its_file_line_key_value_and_what_is_allowed(
    write, line: str, number: int, message: str
) -> None:
    path = write(MINIMAL.replace("\n[workload]", f"{line}\n[workload]"))
    complaint = refusal(path)
    assert complaint.startswith(f"{path}, line {number}: ")
    assert message in complaint
    assert "\n" not in complaint


def test_every_problem_gets_a_line(write) -> None:
    path = write(
        'seed = "x"\nmodel = "gpt"\ngpu = "h100-80gb"\n\n[workload]\nprofile = "kct"\nsessions = 0\n'
    )
    assert refusal(path).splitlines() == [
        f"{path}, line 1: seed = 'x': must be a valid integer, unable to parse string as an integer",
        f"{path}, line 7: workload.sessions = 0: must be greater than 0",
        f"{path}, line 2: model: no model is called 'gpt' "
        f"(known: {', '.join(preset_names('models'))}); "
        "for another, give the path of its config.json",
        f"{path}: workers: is missing: The engines of the cluster.",
    ]


def test_both_sources_of_a_workload_or_none(write) -> None:
    both = write(MINIMAL.replace("sessions = 3", 'path = "x"'))
    assert refusal(both).startswith(f"{both}, line 4: workload: give either path (a trace file) or profile")
    none = write(MINIMAL.replace('profile = "kct"', "turns = 1"))
    assert "give either path" in refusal(none)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("router.block_size=16", "the engine's blocks have 800 tokens"),
        ("engine.max_model_len=2M", "the model's is 1000000; raise model.max_model_len"),
        (
            "engine.long_prefill_token_threshold=799",
            "must be 0 or at least a block of this hybrid model, 800",
        ),
        ("model.max_model_len=262144 tokens", "is not a number of tokens"),
        ("model=qwen3.8-27b", "no model is called 'qwen3.8-27b'; did you mean 'qwen3.8-27b-fp8'?"),
        ("workload.path=none.jsonl", "no such file: "),
        ("workload.path=/dev/null", "is not a file: /dev/null is a device"),
        ("offload.cpu_bytes=24MiB", "does not hold one KV block of 25 MiB"),
        ('disaggregation.connector_order=["nixl"]', "has too few values"),
        ("output.tables=workers", "must be a list"),
    ],
)
def test_a_problem_of_an_override_names_the_override(override: str, message: str) -> None:
    complaint = refusal("agg8", override)
    assert complaint.startswith(f"--set {override}: ")
    assert message in complaint


def test_a_missing_trace_is_named_with_the_place_that_was_looked_at(write, tmp_path: Path) -> None:
    path = write(MINIMAL.replace('profile = "kct"', 'path = "../trace.jsonl"'))
    assert refusal(path) == f"{path}, line 5: workload.path: no such file: {tmp_path.parent / 'trace.jsonl'}"


def test_a_missing_scenario_and_one_that_is_not_toml(write) -> None:
    assert refusal("folder/mine.toml") == "folder/mine.toml: No such file or directory"
    assert "no scenario is called 'agg9'; did you mean 'agg" in refusal("agg9")
    path = write("seed = \n")
    assert refusal(path).startswith(f"{path}: not a TOML file: ")


def test_a_pool_smaller_than_the_weights_is_refused_with_what_to_change() -> None:
    scenario = load_scenario("agg8", ["gpu.memory_bytes=24GiB"])
    with pytest.raises(InputError, match=r"does not fit on h100-80gb: 28\.88 GiB of weights.*kv_blocks"):
        scenario.capacity()


def test_a_scenario_made_in_python_is_checked_too() -> None:
    content = load_scenario("agg8").model_dump() | {"router": {"block_size": 16}}
    content["workload"] = {"profile": "talk", "sessions": 1}
    with pytest.raises(ValidationError, match=r"router\.block_size = 16: the engine's blocks have 800"):
        Scenario.model_validate(content)


# Changing what was loaded


def test_a_loaded_scenario_is_changed_as_its_file_would_be() -> None:
    loaded = load_scenario("agg8")
    for overrides in (["workload.sessions=4"], {"workload.sessions": 4, "offload": None}):
        assert load_scenario(loaded, overrides) == load_scenario("agg8", overrides)
    assert load_scenario(loaded) == loaded
    assert load_scenario(loaded, {"model": "qwen3-14b-bf16"}).model.name == "qwen3-14b-bf16"


def test_a_loaded_scenario_takes_a_trace_in_place_of_its_profile(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.touch()
    assert load_scenario(load_scenario("agg8"), {"workload.path": path}).workload.profile is None


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"workload.sessions": 0}, r"--set workload\.sessions=0: must be greater than 0"),
        ({"workload.sesions": 1}, "unknown key; did you mean 'sessions'"),
        ({"engine.max_model_len": 2_000_000}, r"engine\.max_model_len"),
        ({"workers.prefill": 1}, r"workers: give either count"),
    ],
)
def test_a_wrong_change_is_named(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_scenario(load_scenario("agg8"), overrides)
