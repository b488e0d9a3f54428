"""`sim init`: metrics win over command lines, models without a preset, and what is not read."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.hardware.experts import Experts
from sim.measured.run import load_run
from sim.scenario.load import load_scenario
from sim.validation.case import ValidationCase
from sim.validation.predictions.replayed_routing import replayed_routing
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL, copy

RUNS = Path(__file__).resolve().parents[3] / "shared" / "measured"

HYBRID: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "vocab_size": 4628,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
    "full_attention_interval": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 128,
    "linear_num_value_heads": 2,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 128,
    "shared_expert_intermediate_size": 128,
}


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def started(folder: Path, **content: Any) -> Path:
    return copy(folder, **{"started.json": json.dumps(content)})


def comments(text: str) -> str:
    return " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))


def test_metrics_win_over_command_lines(tmp_path: Path) -> None:
    folder = started(
        tmp_path / "run", worker_cmds=["vllm serve m --block-size 32 --num-gpu-blocks-override 64"]
    )
    result = call("--measured", str(folder))
    assert "block_size = 16  # vllm:cache_config_info of worker0" in result.stdout
    assert "kv_blocks = 320  # vllm:cache_config_info of worker0" in result.stdout
    for text in (result.stderr, comments(result.stdout)):
        assert "engine.block_size = 32 by --block-size, but 16 by vllm:cache_config_info of worker0" in text
        assert "engine.kv_blocks = 64 by --num-gpu-blocks-override, but 320 by" in text


def test_number_formats_are_taken(tmp_path: Path) -> None:
    out = tmp_path / "x.toml"
    command = "vllm serve Qwen/Qwen3-14B --kv-cache-dtype fp8 --max-num-seqs 64"
    assert call("--engine", command, "--out", str(out)).exit_code == 0
    scenario = load_scenario(out)
    assert (scenario.model.name, scenario.model.kv_dtype) == ("qwen3-14b-bf16", "fp8")
    assert scenario.engine.max_num_seqs == 64


def test_a_format_that_is_not_modelled_is_said() -> None:
    result = call("--engine", "vllm serve Qwen/Qwen3-14B --kv-cache-dtype nvfp4 -q awq")
    assert "--kv-cache-dtype = nvfp4: not modelled" in result.stderr
    assert "--quantization awq: not modelled" in result.stderr


def test_what_is_not_read_is_listed() -> None:
    engine = "HF_TOKEN=abc VLLM_X=1 vllm serve Qwen/Qwen3-14B --seed 0 --api-key s3cret --max-num-seqs 8 9"
    frontend = "DYN_LOG=info python -m dynamo.frontend --http-port 8000 --router-temperature 1"
    result = call("--engine", engine.removesuffix(" 9"), "--frontend", frontend)
    for text in (" ".join(result.stderr.split()), comments(result.stdout)):
        assert "Not read, of the command line of the engines: --seed 0, --api-key ...." in text
        assert "Not read, of the environment of the engines: HF_TOKEN=..., VLLM_X=1." in text
        # Without --router-mode kv the router's weights mean nothing.
        assert "of the command line of the frontend: --http-port 8000, --router-temperature 1." in text
        assert "of the environment of the frontend: DYN_LOG=info." in text
        assert "s3cret" not in text
    assert "9 behind --max-num-seqs 8" in call("--engine", engine).stderr


def test_short_options_and_a_model_at_the_end_are_read() -> None:
    result = call("--engine", "vllm serve --max-num-seqs 8 Qwen/Qwen3-14B -tp 2")
    assert 'preset = "qwen3-14b-bf16"' in result.stdout
    assert "--tensor-parallel-size 2: not modelled" in result.stderr


def test_a_file_of_command_lines_tells_the_environment_and_what_else_it_has(tmp_path: Path) -> None:
    folder = started(
        tmp_path / "run",
        worker_cmds=["vllm serve m", "vllm serve m"],
        worker_env=[{"A": "1", "PORT": 1}, {"A": "1", "PORT": 2}],
        frontend_cmd="python -m dynamo.frontend",
        frontend_env={"DYN_ROUTER_MODE": "kv", "DYN_ROUTER_TEMPERATURE": "0.5"},
        plan="x",
    )
    result = call("--measured", str(folder))
    assert "temperature = 0.5" in result.stdout
    assert "of the environment of the engines: A=1, PORT (not the same for all)." in result.stderr
    assert "Not read, of started.json: plan." in result.stderr


def test_a_model_without_a_preset_is_not_replaced_in_silence(tmp_path: Path) -> None:
    result = call("--engine", "vllm serve Qwen/Qwen3")
    assert "no preset is the engines' model, Qwen/Qwen3: an example stands there" in result.stderr
    assert "an example, NOT the cluster's model, Qwen/Qwen3" in result.stdout


def test_experts_keep_the_shape_of_their_cache(tmp_path: Path) -> None:
    folder = started(tmp_path / "run", worker_cmds=["vllm serve m"], model_config=HYBRID | EXPERTS)
    out = tmp_path / "x.toml"
    result = call("--measured", str(folder), "--out", str(out))
    model = load_scenario(out).model
    assert (model.linear_attention_layers, model.full_attention_layers) == (3, 1)
    assert model.experts == Experts(
        routed=4, per_token=2, intermediate_size=128, shared_intermediate_size=128
    )
    assert result.stderr.count("experts") == 0


def test_a_preset_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    folder = started(tmp_path / "run", worker_cmds=["vllm serve Qwen/Qwen3-14B"], model_config=HYBRID)
    out = tmp_path / "x.toml"
    result = call("--measured", str(folder), "--out", str(out))
    assert load_scenario(out).model.linear_attention_layers == 3
    assert "preset qwen3-14b-bf16 has another shape than the run's model_config" in result.stderr


def test_seconds_as_the_client_took_them_are_those_of_the_trace(tmp_path: Path) -> None:
    folder = started(
        tmp_path / "run",
        worker_cmds=["vllm serve m"],
        bench_cmd="vllm bench serve --dataset-name timed_trace --timed-trace-sec-multiplier 1",
    )
    trace, before = load_run(folder).trace, load_run(SMALL).trace
    assert trace is not None
    assert before is not None
    assert trace.requests[-1].timestamp_s == pytest.approx(1000 * (before.requests[-1].timestamp_s or 0.0))
    assert "sec_multiplier = 1.0" in call("--measured", str(folder)).stdout


@pytest.mark.skipif(not RUNS.is_dir(), reason=f"no recorded runs at {RUNS}")
def test_a_hybrid_model_of_experts_is_mirrored_right(tmp_path: Path) -> None:
    out = tmp_path / "mirror.toml"
    assert call("--measured", str(RUNS / "cpu-gdn2-default"), "--out", str(out)).exit_code == 0
    run = load_run(RUNS / "cpu-gdn2-default")
    scenario = scenario_of(run, str(out), ())[0]
    assert (scenario.block_tokens, scenario.engine.async_scheduling) == (80, False)
    found = replayed_routing(ValidationCase(run, scenario))
    assert (found.agreement.right, found.agreement.compared) == (120, 120)
    assert found.predicted["recomputed_tokens"] == found.measured["recomputed_tokens"] == 32_160
