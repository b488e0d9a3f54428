"""`sim init`: what each source tells of a scenario, which one wins, and what is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sim.base.errors import InputError
from sim.cli import app
from sim.measured.formats.flags import parse_command
from sim.measured.formats.prometheus import Window, parse
from sim.measured.mirror.engines import tell_engines
from sim.measured.mirror.found import Found
from sim.measured.mirror.frontend import tell_frontend
from sim.measured.mirror.metrics import tell_blocks, tell_decisions, tell_metrics, tell_pools
from sim.measured.run import load_run
from sim.scenario.load import load_scenario
from tests.measured.small_run import SMALL, copy


def told(found: Found) -> dict[str, Any]:
    return {".".join(path): setting.value for path, setting in found.settings.items()}


def engines(*commands: str) -> Found:
    found = Found()
    tell_engines([parse_command(command) for command in commands], found)
    return found


def frontend(command: str) -> Found:
    found = Found()
    tell_frontend(parse_command(command), found)
    return found


def transfer(**config: Any) -> str:
    return f"--kv-transfer-config '{json.dumps(config)}'"


OFFLOAD = {
    "kv_connector": "OffloadingConnector",
    "kv_connector_extra_config": {"cpu_bytes_to_use": 4096, "self_describing_kv_events": True},
}


def test_engines_tell_their_number_and_their_limits() -> None:
    command = (
        "vllm serve m --block-size 32 --num-gpu-blocks-override 320 --max-num-seqs 16 --no-async-scheduling "
        "--max-num-batched-tokens 512 --max-model-len 2k --gpu-memory-utilization 0.8"
    )
    found = engines(command, command)
    assert told(found) == {
        "workers.count": 2,
        "engine.block_size": 32,
        "engine.max_num_seqs": 16,
        "engine.max_num_batched_tokens": 512,
        "engine.max_model_len": 2000,
        "engine.kv_blocks": 320,
        "engine.gpu_memory_utilization": 0.8,
        "engine.async_scheduling": False,
    }
    assert found.notes == []


def test_engines_that_differ_are_noted_and_the_first_counts() -> None:
    found = engines("vllm serve m --max-num-seqs 16", *["vllm serve m --max-num-seqs 32"] * 2)
    assert told(found)["engine.max_num_seqs"] == 16
    assert found.notes == [
        "engine.max_num_seqs = 32 by --max-num-seqs of aggregated engine 1, but 16 by --max-num-seqs is taken"
    ]


def test_disaggregated_engines_have_pools_of_their_own() -> None:
    nixl = {"kv_connector": "NixlConnector", "kv_role": "kv_producer"}
    multi = {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": [OFFLOAD, nixl]}}
    found = engines(
        "python -m dynamo.vllm --disaggregation-mode decode --num-gpu-blocks-override 320",
        f"python -m dynamo.vllm --is-prefill-worker --num-gpu-blocks-override 480 {transfer(**multi)}",
        "python -m dynamo.vllm --is-decode-worker --num-gpu-blocks-override 320",
    )
    assert told(found) == {
        "workers.prefill": 1,
        "workers.decode": 2,
        "engine.kv_blocks": 480,
        "disaggregation.decode_kv_blocks": 320,
        "disaggregation.prefill_kv_role": "kv_producer",
        "disaggregation.connector_order": ["offload", "nixl"],
        "offload.cpu_bytes": 4096,
        "offload.kv_events": "self-describing",
    }


def test_both_layouts_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="one of both layouts"):
        engines("vllm serve m", "vllm serve m --disaggregation-mode decode")


def test_offload_is_told_by_its_size() -> None:
    assert told(engines("vllm serve m --kv-offloading-size 1.5"))["offload.cpu_bytes"] == 3 * 2**29
    silent = {
        "kv_connector": "OffloadingConnector",
        "kv_connector_extra_config": {"self_describing_kv_events": False},
    }
    found = engines(f"vllm serve m {transfer(**silent)}")
    assert told(found)["offload.kv_events"] == "placeholder"


def test_what_is_not_modelled_is_noted() -> None:
    found = engines(f"vllm serve m --tensor-parallel-size 2 {transfer(kv_connector='LMCacheConnector')}")
    assert found.notes == [
        "--tensor-parallel-size 2: not modelled, one engine is one GPU",
        "--kv-transfer-config: connector LMCacheConnector is not modelled",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [("'{'", "not valid JSON"), ("'[1]'", "a list: the option must hold one JSON object")],
)
def test_a_transfer_config_that_is_no_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        engines(f"vllm serve m --kv-transfer-config {text}")


def test_the_frontend_tells_the_router() -> None:
    found = frontend(
        "DYN_ROUTER_TEMPERATURE=0.5 DYN_ROUTER_TRACK_ACTIVE_BLOCKS=false python -m dynamo.frontend "
        "--router-mode kv --router-kv-overlap-score-credit 2 --router-prefill-load-scale 4 "
        "--router-host-cache-hit-weight 0 --router-track-output-blocks --router-queue-threshold 3"
    )
    assert told(found) == {
        "router.policy": "kv",
        "router.overlap_score_credit": 2.0,
        "router.prefill_load_scale": 4.0,
        "router.host_cache_hit_weight": 0.0,
        "router.temperature": 0.5,
        "router.track_active_blocks": False,
        "router.track_output_blocks": True,
    }
    assert found.notes == ["--router-queue-threshold 3: not modelled"]


def test_an_option_wins_over_a_variable() -> None:
    found = frontend("DYN_ROUTER_MODE=random python -m dynamo.frontend --router-mode kv")
    assert told(found) == {"router.policy": "kv"}


def test_without_a_mode_dynamo_goes_round() -> None:
    assert told(frontend("python -m dynamo.frontend")) == {"router.policy": "round-robin"}
    assert (
        frontend("python -m dynamo.frontend --router-mode direct").notes[0].startswith("--router-mode direct")
    )
    with pytest.raises(InputError, match="--router-assume-kv-reuse maybe: must be true or false"):
        frontend("DYN_ROUTER_MODE=kv DYN_ROUTER_ASSUME_KV_REUSE=maybe python -m dynamo.frontend")


def test_metrics_and_log_tell_what_commands_do_not() -> None:
    run, found = load_run(SMALL), Found()
    tell_pools(run.workers, found)
    tell_blocks(run.workers, found)
    tell_decisions(run.decisions, found)
    assert told(found) == {
        "workers.count": 2,
        "engine.kv_blocks": 320,
        "engine.block_size": 16,
        "router.policy": "kv",
        # Dynamo 1.6 logs no costs.
        "router.version": "1.5",
        "router.prefill_load_scale": 1.0,
        "router.overlap_score_credit": 1.0,
    }


GAUGES = (
    'dynamo_frontend_model_max_num_seqs{model="m"} 16\n'
    'dynamo_frontend_model_total_kv_blocks{model="m"} 320\n'
    'dynamo_component_router_worker_registered{router_worker_id="1",worker_type="decode"} 1\n'
    'dynamo_component_router_worker_registered{router_worker_id="2",worker_type="decode"} 0\n'
)


def test_a_frontend_knows_its_workers() -> None:
    found = Found()
    tell_metrics({"frontend": Window([parse(GAUGES, "here")])}, found)
    assert told(found) == {"workers.count": 1, "engine.max_num_seqs": 16, "engine.kv_blocks": 320}


def test_blocks_of_one_worker_of_two_kinds_are_nobodys() -> None:
    prefill = 'dynamo_component_router_worker_registered{router_worker_id="3",worker_type="prefill"} 1\n'
    found = Found()
    tell_metrics({"frontend": Window([parse(GAUGES + prefill, "here")])}, found)
    assert told(found) == {"workers.prefill": 1, "workers.decode": 1, "engine.max_num_seqs": 16}
    assert found.notes[0].startswith(
        "dynamo_frontend_model_total_kv_blocks = 320 is of a prefill or a decode"
    )


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def test_a_run_becomes_a_scenario(tmp_path: Path) -> None:
    out = tmp_path / "mirror.toml"
    toml = """[commands]
    engines = ["vllm serve Qwen/Qwen3-14B --max-num-seqs 16 --max-model-len 2048"]
    frontend = "python -m dynamo.frontend --router-mode kv --router-prefill-load-scale 4"
    """
    run = copy(tmp_path / "run", **{"run.toml": toml})
    result = call("--measured", str(run), "--out", str(out))
    assert (result.exit_code, result.stdout) == (0, f"{out}: not told, so examples stand there: gpu\n")
    scenario = load_scenario(out)
    assert scenario.title == "Mirror of run"
    assert scenario.workload.path == (run / "trace.jsonl").resolve()
    assert scenario.replay.client == "open-loop"
    assert scenario.model.name == "qwen3-14b-bf16"
    # One command line stands for both engines that left metrics.
    assert scenario.workers.count == 2
    assert (scenario.engine.kv_blocks, scenario.engine.max_num_seqs) == (320, 16)
    assert (scenario.router.policy, scenario.router.prefill_load_scale) == ("kv", 4.0)
    text = out.read_text(encoding="utf-8")
    assert 'path = "run/trace.jsonl"' in text
    assert "max_num_seqs = 16     # --max-num-seqs" in text
    assert "# Not told, so the default holds: engine.version, engine.max_num_batched_tokens." in text


def test_commands_given_win_over_those_of_the_run(tmp_path: Path) -> None:
    toml = '[commands]\nengines = ["vllm serve m --max-num-seqs 16"]'
    run = copy(tmp_path / "run", **{"run.toml": toml})
    result = call("--measured", str(run), "--engine", "vllm serve m --max-num-seqs 8", "--gpu", "h100-80gb")
    assert "max_num_seqs = 8 " in result.stdout
    assert 'gpu = "h100-80gb"  # --gpu' in result.stdout
    assert "Note: no preset is the engines' model, m" in result.stdout


def test_what_the_text_says_without_a_run(tmp_path: Path) -> None:
    result = call("--metrics", str(SMALL / "metrics-after.worker0.prom"))
    assert result.exit_code == 0
    path = tmp_path / "x.toml"
    path.write_text(result.stdout, encoding="utf-8")
    scenario = load_scenario(path)
    assert (scenario.workers.count, scenario.engine.kv_blocks, scenario.engine.block_size) == (1, 320, 16)
    assert 'profile = "talk"  # not told: an example' in result.stdout


CONFIG = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 4628,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}


def test_the_model_may_be_in_a_file_of_command_lines(tmp_path: Path) -> None:
    content = {"worker_cmds": ["vllm serve tiny"], "model_config": CONFIG}
    run = copy(tmp_path / "run", **{"started.json": json.dumps(content)})
    out = tmp_path / "mirror.toml"
    assert call("--measured", str(run), "--out", str(out)).exit_code == 0
    model = load_scenario(out).model
    assert (model.name, model.hidden_size, model.full_attention_layers) == ("tiny", 256, 4)
    assert model.kv_bytes_per_token == 2048
    content["model_config"] = CONFIG | {"num_experts": 4}
    (run / "started.json").write_text(json.dumps(content), encoding="utf-8")
    result = call("--measured", str(run))
    assert "# Note: the model's configuration cannot be used: the key num_experts_per_tok is" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to mirror: give --measured, --metrics, --engine or --frontend"),
        (["--engine", "vllm serve m --max-num-seqs many"], "--max-num-seqs many: must be a whole number"),
        (["--engine", "vllm serve m", "--gpu", "h101"], "no gpu is called 'h101'"),
        (["--metrics", "absent.prom"], "absent.prom: cannot be read"),
    ],
)
def test_bad_input_ends_with_2(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_is_replaced_only_by_force_and_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "mirror.toml"
    out.write_text("mine", encoding="utf-8")
    assert "exists; give a new file, or --force" in call("--engine", "vllm serve m", "--out", str(out)).stderr
    bad = call("--engine", "vllm serve m --max-model-len 9M", "--out", str(out), "--force")
    assert bad.exit_code == 2
    assert out.read_text(encoding="utf-8") == "mine"
    assert call("--engine", "vllm serve m", "--out", str(out), "--force").exit_code == 0
    assert load_scenario(out).workers.count == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mirror.toml"]
