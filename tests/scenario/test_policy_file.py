"""Dynamo's policy file in a scenario: by its path, as a table, and what is wrong with one."""

from pathlib import Path

import pytest
import yaml

from sim.base.errors import InputError
from sim.scenario.load import load_scenario
from sim.scenario.policy_file import read_policy_file
from sim.scenario.sections import RouterSettings

TEXT = """\
default_policy_family: std
uncached_isl_buckets:
 - {min_tokens: 0, bucket: all}
policy_classes:
 - {name: std_all, policy_family: std, cache_bucket: all, queue_policy: wspt, quantum: 800}
"""
SCENARIO = """\
model = "qwen3.8-27b-fp8"
gpu = "h100-80gb"
workload.profile = "kct"
workload.sessions = 1
workers.count = 2
router.policy_config = "classes.yaml"
"""


def test_a_path_starts_at_the_folder_of_the_scenario(tmp_path: Path):
    (tmp_path / "classes.yaml").write_text(TEXT)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    scenario = load_scenario(tmp_path / "mine.toml")
    assert scenario.router.policy_config == read_policy_file(tmp_path / "classes.yaml")
    assert scenario.router.policy_config.policy_classes[0].queue_policy == "wspt"
    assert scenario.router.has_queue


def test_a_file_that_is_not_there_is_told_with_its_key(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(SCENARIO)
    with pytest.raises(InputError, match=r"policy_config.*classes\.yaml: No such file"):
        load_scenario(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has keys such as policy_classes"),
        ("- 1", "has keys such as policy_classes"),
        ("a: [", "not a YAML file"),
        ("[" * 5000, "not a YAML file"),
        ("a: 2001-99-99", "not a YAML file"),
        ("a: !!python/object:os.system {}", "not a YAML file"),
        (TEXT.replace("quantum: 800", "quantum: 0"), "policy_classes.0.quantum: .*greater than 0"),
        (TEXT.replace("std_all,", "std_all, speed: 1,"), "policy_classes.0.speed: Extra inputs"),
        ("{}", "a profile has default_policy_family"),
        (TEXT + "request_classifier: {}\n", "request_classifier is not read"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(tmp_path: Path, text: str, message: str):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_policy_file(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


SECTIONS = """router: {ttl_secs: 5, use_kv_events: false, host_cache_hit_weight: 0.5}
worker_selection: {prefill: least-loaded, decode: dynamo-default-cost-fn}
"""


def _router(folder: Path, text: str, *changes: str):
    (folder / "classes.yaml").write_text(text)
    (folder / "mine.toml").write_text(SCENARIO)
    return load_scenario(folder / "mine.toml", changes).router


@pytest.mark.parametrize("classes", ["", TEXT])
def test_a_file_sets_what_a_table_in_its_place_sets(tmp_path: Path, classes: str):
    changes = ["router.version=1.6", "router.ttl_secs=9", "router.load_aware=true"]
    router = _router(tmp_path, SECTIONS + classes, *changes)
    table = yaml.safe_load(SECTIONS + classes)
    assert router == RouterSettings(version="1.6", ttl_secs=9, load_aware=True, policy_config=table)
    assert (router.ttl_secs, router.prefill_policy, router.decode_policy) == (5, "least-loaded", "kv")
    assert router.has_queue is bool(classes)
    assert RouterSettings.model_validate(router.model_dump()) == router


def test_selectors_of_pools_are_read_in_both_releases_shared_settings_in_one(tmp_path: Path):
    assert _router(tmp_path, TEXT + "worker_selection: {decode: random}\n").decode_policy == "random"
    with pytest.raises(
        InputError, match=r"classes\.yaml: policy_config\.router is of Dynamo 1\.6: set version"
    ):
        _router(tmp_path, SECTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("router: {temperature: 1}\n", r"classes\.yaml: policy_config\.router may have"),
        ("worker_selection: 3\n", r"classes\.yaml: policy_config\.worker_selection may have"),
        ("router: {ttl_secs: -1}\n", r"router\.ttl_secs = -1: .*greater than 0"),
    ],
)
def test_what_is_wrong_with_a_section_is_said(tmp_path: Path, text: str, message: str):
    with pytest.raises(InputError, match=message) as caught:
        _router(tmp_path, text, "router.version=1.6")
    assert "\n" not in str(caught.value)
