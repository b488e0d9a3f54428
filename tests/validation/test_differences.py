"""Engines of a scenario that are not those of the recording: refused, or named."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.base.errors import InputError
from sim.cli import app
from sim.measured.run import load_run
from sim.validation.differences import EngineDifference, differences, refuse
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL, copy

WORKER0 = "vllm:cache_config_info of worker0"


def found(folder: Path, name: str, *overrides: str) -> list[EngineDifference]:
    run = load_run(folder)
    laid = scenario_of(run, name, overrides)
    return differences(run, laid.scenario, laid.told)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments], terminal_width=100)


def with_label(folder: Path, label: str) -> Path:
    """Copy the run with another label in what worker0 says of its cache."""
    name = "metrics-after.worker0.prom"
    text = (SMALL / name).read_text(encoding="utf-8").replace('block_size="16"', f'block_size="16",{label}')
    return copy(folder, metrics_after_worker0_prom=text)


def test_the_recorded_engines_differ_in_nothing() -> None:
    assert found(SMALL, "cpu-agg2") == []


def test_another_number_of_blocks_decides() -> None:
    (one,) = found(SMALL, "cpu-agg2", "engine.kv_blocks=4")
    assert one == EngineDifference("engine.kv_blocks", 320, WORKER0, 4, decisive=True)
    assert str(one) == f"engine.kv_blocks: recorded 320 ({WORKER0}), here 4"


def test_blocks_of_another_size_are_refused() -> None:
    run = load_run(SMALL)
    (one,) = found(SMALL, "cpu-agg2", "engine.block_size=32")
    assert (one.key, one.recorded, one.scenario, one.decisive) == ("engine.block_size", 16, 32, True)
    with pytest.raises(InputError, match=r"block_size: recorded 16 .* here 32\..*--allow-diff"):
        refuse(run, [one], ["engine.max_num_seqs=8"])
    # An override of that very key asks for it.
    refuse(run, [one], ["engine.block_size = 32"])


def test_a_hybrid_model_is_not_a_plain_one(tmp_path: Path) -> None:
    run = with_label(tmp_path / "run", 'mamba_cache_mode="align"')
    (one,) = found(run, "cpu-agg2")
    assert (one.key, one.decisive) == ("model", True)
    assert str(one).startswith("model: recorded a hybrid model (recurrent states)")


def test_other_limits_are_named_and_not_refused(tmp_path: Path) -> None:
    command = "vllm serve m --max-num-seqs 4 --kv-cache-dtype fp8 --tensor-parallel-size 2"
    toml = f'[commands]\nengines = ["{command}"]'
    run = copy(tmp_path / "run", **{"run.toml": toml})
    assert [(one.key, one.recorded, one.scenario) for one in found(run, "cpu-agg2")] == [
        ("model.kv_dtype", "fp8", "bf16"),
        ("engine.max_num_seqs", 4, 16),
        ("", "--tensor-parallel-size 2: not modelled, one engine is one GPU", None),
    ]
    assert not any(one.decisive for one in found(run, "cpu-agg2"))


def test_engines_of_one_pool_that_differ_are_named(tmp_path: Path) -> None:
    text = (SMALL / "metrics-after.worker1.prom").read_text(encoding="utf-8")
    run = copy(tmp_path / "run", metrics_after_worker1_prom=text.replace('"320"', '"300"'))
    (one,) = found(run, "cpu-agg2")
    assert (one.recorded, one.scenario, one.decisive) == (300, 320, False)
    assert one.source == "vllm:cache_config_info of worker1"


def test_another_cluster_ends_with_2_unless_it_is_asked_for() -> None:
    arguments = ("cpu-gdn2", "--measured", str(SMALL), "--step", "forced")
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "engine.block_size: recorded 16 (vllm:cache_config_info of worker0), here 80" in result.stderr
    result = call(*arguments, "--allow-differences")
    assert result.exit_code == 0
    rules, _, first = result.stdout.splitlines()[1:4]
    assert rules == "router Dynamo 1.5, engine vLLM 0.28"
    assert first.startswith("Not the recorded engines: engine.block_size: recorded 16")


def test_a_fit_to_other_engines_is_refused(tmp_path: Path) -> None:
    other = with_label(tmp_path / "run", 'mamba_cache_mode="align"')
    result = call("cpu-agg2", "--measured", str(SMALL), "--step", "timed", "--fit", str(other))
    assert result.exit_code == 2
    assert "a hybrid model (recurrent states)" in result.stderr


def test_json_has_them() -> None:
    arguments = ("--set", "engine.kv_blocks=4", "--step", "forced", "--format", "json")
    (run,) = json.loads(call("cpu-agg2", "--measured", str(SMALL), *arguments).stdout)["runs"]
    assert run["differences"] == [
        {
            "key": "engine.kv_blocks",
            "recorded": 320,
            "source": WORKER0,
            "scenario": 4,
            "decisive": True,
            "text": f"engine.kv_blocks: recorded 320 ({WORKER0}), here 4",
        }
    ]
