"""`sim capacity`: engines of several GPUs, models by name, limits by GPU, an estimate beside."""

from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.hardware import aic_blocks


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["capacity", *arguments], env={"COLUMNS": "120"})


def rows(result: Result) -> dict[str, str]:
    """Return what stands behind each label, spaces folded."""
    found: dict[str, str] = {}
    for line in result.stdout.splitlines():
        label, _, rest = line.strip().partition("  ")
        found[label] = " ".join(rest.split())
    return found


def test_one_gpu_of_several() -> None:
    found = rows(call("--model", "llama-3.1-70b-bf16", "--gpu", "h100-80gb", "--tp", "2", "--pp", "2"))
    assert found["GPUs of a worker"] == "4 tensor 2 x pipeline 2 x data 1"
    # 40 layers of half the matrices, and half of 128,256 rows of 8,192 numbers.
    layers = 40 * (3 * 8192 * 14_336 + 8192 * 128 * (32 * 2 + 4 * 2))
    gib = (2 * (layers + 64_128 * 8192)) / 2**30
    assert found["stage 0"].startswith(f"{gib:.2f} GiB")
    assert found["counted below"].startswith("stage 1")
    assert found["KV cache of a token"] == "80 KiB 2,048 B x 40 layers"
    assert "communication" in found["runtime"] or "communication" in call("--tp", "2").stdout


def test_groups_are_named() -> None:
    found = rows(call("--model", "openai/gpt-oss-20b", "--gpu", "h100-80gb"))
    assert found["cache group 0"] == "12 layers sliding window of 128, blocks of 16 tokens"
    assert found["cache group 1"] == "12 layers full attention, blocks of 16 tokens"
    assert found["block"] == "16 tokens 384 KiB"
    assert found["tokens in the pool"].endswith("as the log counts them: in sequences of greatest length")


def test_limits_of_a_step_are_printed() -> None:
    small = call("--model", "qwen3-8b-bf16", "--gpu", "a100-80gb").stdout
    assert "max_num_batched_tokens 2,048, max_num_seqs 256" in small
    own = call("--model", "qwen3-8b-bf16", "--gpu", "a100-80gb", "--set", "engine.max_num_seqs=7").stdout
    assert "max_num_batched_tokens 2,048, max_num_seqs 7" in own


def test_another_release_counts_working_memory_otherwise() -> None:
    memory = ["--set", "engine.gpu_memory_utilization=0.9"]
    old = call("--model", "llama-3.1-70b-fp8", "--gpu", "h200-141gb", "--vllm", "0.14.1", *memory)
    assert rows(old)["KV pool"].startswith("53.18 GiB")
    unknown = call("--vllm", "0.9")
    assert unknown.exit_code == 2
    assert "vLLM 0.9: its working memory is not known; known: 0.28.0, 0.14.1" in unknown.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "qwen3-14b-bf16", "--tp", "3"], "must be divisible by tensor parallel size (3)"),
        (["--model", "qwen3-14b-bf16", "--ep"], "Number of experts in the model must be greater than 0"),
        (["--model", "deepseek-v3", "--gpu", "h100-80gb"], "deepseek-v3 does not fit on h100-80gb"),
        (["--model", "deepseek-v3", "--tp", "8", "--ep"], "does not fit on one h100-80gb of the engine"),
    ],
)
def test_refusals_are_one_line(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The library's function in place of an installed one; what it was asked."""
    asked: list[Any] = []

    def estimate_num_gpu_blocks(*model: str, **keywords: Any) -> int:
        asked.append((model, keywords))
        if keywords["tp_size"] == 4:
            raise ValueError("no table\nof it")
        return 20_000

    module = SimpleNamespace(estimate_num_gpu_blocks=estimate_num_gpu_blocks)
    monkeypatch.setattr(aic_blocks, "find_spec", lambda name: object())
    monkeypatch.setattr(aic_blocks, "import_module", lambda name: module)
    return asked


def test_an_estimate_stands_beside_where_the_library_is_installed(library: list[Any]) -> None:
    result = call("--model", "qwen3-32b-bf16", "--gpu", "h100-80gb", "--tp", "2")
    assert "AIConfigurator's core estimates 20,000 blocks of 16 tokens (+0.8%)" in " ".join(
        result.stdout.split()
    )
    ((model, keywords),) = library
    assert model == ("Qwen/Qwen3-32B", "h100_sxm", "vllm", "current")
    assert (keywords["tp_size"], keywords["scheduler_block_size"], keywords["max_num_tokens"]) == (
        2,
        16,
        8192,
    )
    assert "moe_tp_size" not in keywords


def test_why_there_is_no_estimate(library: list[Any]) -> None:
    stdout = call("--model", "qwen3-30b-a3b-bf16", "--gpu", "h100-80gb", "--tp", "4", "--ep").stdout
    assert "AIConfigurator's core has no estimate: no table" in stdout
    assert library[0][1]["moe_ep_size"] == 4


def test_nobody_is_asked_for_a_gpu_or_a_model_that_it_cannot_know(library: list[Any]) -> None:
    assert "AIConfigurator" not in call().stdout
    assert "AIConfigurator" not in call("--model", "qwen3-8b-bf16", "--gpu", "a100-40gb").stdout
    assert not library


def test_what_another_release_would_leave_is_said_where_no_log_gives_the_working_memory() -> None:
    said = " ".join(call("--model", "llama-3.1-70b-fp8", "--gpu", "h200-141gb").stdout.split())
    assert "by a rule made of one log of vLLM 0.28.0, Qwen3.8-27B on an H100; that of 0.14.1 leaves" in said
    assert "by a rule" not in call("--set", "model.peak_activation_bytes=2GiB").stdout
    assert "by a rule" not in call("--set", "engine.kv_blocks=1000").stdout
