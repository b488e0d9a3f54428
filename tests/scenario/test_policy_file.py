"""Dynamo's policy file in a scenario: by its path, as a table, and what is wrong with one."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.scenario.load import load_scenario
from sim.scenario.policy_file import read_policy_file

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
        (TEXT + "router: {}\n", r"router is not read: the keys of \[router\]"),
        (TEXT + "worker_selection: {}\n", "worker_selection is not read: router.policy"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(tmp_path: Path, text: str, message: str):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_policy_file(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
