"""Which engines vLLM 0.28.0 refuses to start: those whose pool does not hold one longest sequence."""

import pytest
from typer.testing import CliRunner

from sim.base.errors import InputError
from sim.cli import app
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.simulation.run import run
from sim.simulation.startup import check_startup

SMALL = ["workload.sessions=1", "workload.turns=1"]


def check(source, *overrides: str) -> list[str]:
    scenario: Scenario = load_scenario(source, overrides)
    return check_startup(scenario, scenario.capacity())


@pytest.mark.parametrize(
    ("max_model_len", "starts"),
    # 1,635 blocks of 800 tokens, less two states in each of three groups: 1,629 x 800.
    [(1_303_200, True), (1_303_201, False)],
)
def test_a_hybrid_model_s_sequence_has_two_states_a_group(max_model_len: int, starts: bool) -> None:
    longer = f"model.max_model_len={max_model_len}"
    if starts:
        assert check("agg8", longer) == []
        return
    with pytest.raises(InputError) as caught:
        check("agg8", longer)
    # 1,636 blocks of 25 MiB.
    assert str(caught.value) == (
        "vLLM 0.28.0 does not start: to serve at least one request with max_model_len 1,303,201, 39.94 GiB "
        "of KV cache is needed (1,636 blocks), which is larger than the available 39.92 GiB (1,635 blocks); "
        "the longest that fits has 1,303,200 tokens. Lower engine.max_model_len, raise "
        "engine.gpu_memory_utilization from 0.92 to 0.921, or take a gpu with more memory"
    )


def test_the_share_of_memory_that_it_names_is_enough() -> None:
    tight = ["model.max_model_len=1303201", "engine.gpu_memory_utilization"]
    with pytest.raises(InputError, match=r"from 0\.5 to 0\.921, or"):
        check("agg8", tight[0], f"{tight[1]}=0.5")
    assert check("agg8", tight[0], f"{tight[1]}=0.921") == []


def test_a_plain_model_s_sequence_has_its_tokens_blocks() -> None:
    """27,573 blocks of 16 tokens hold 441,168 tokens."""
    assert check("llama8b-agg2", "model.max_model_len=441168") == []
    with pytest.raises(InputError, match=r"\(27,574 blocks\).* the longest that fits has 441,168 tokens"):
        check("llama8b-agg2", "model.max_model_len=441169")


def test_the_limit_of_the_engine_counts_and_not_that_of_the_model() -> None:
    assert check("agg8", "model.max_model_len=5M", "engine.max_model_len=1M") == []


@pytest.mark.parametrize("key", ["engine.kv_blocks", "disaggregation.decode_kv_blocks"])
def test_blocks_given_are_checked_like_derived_ones(key: str) -> None:
    """2,048 tokens are 128 blocks of 16."""
    assert check("cpu-2p2d", f"{key}=128") == []
    with pytest.raises(
        InputError, match=rf"\({key} = 127 blocks\); the longest that fits has 2,032 tokens\."
    ):
        check("cpu-2p2d", f"{key}=127")


def test_blocks_given_without_a_longest_sequence_are_taken_and_it_is_said() -> None:
    found = run("agg8", [*SMALL, "engine.kv_blocks=400"])
    (note,) = [note for note in found.notes if "would not start" in note]
    # 400 blocks less six states.
    assert note.startswith("vLLM 0.28.0 would not start with these blocks unless max_model_len is lowered: ")
    assert note.endswith("the longest that fits has 315,200 tokens; say so with engine.max_model_len")


def test_not_even_one_token() -> None:
    with pytest.raises(InputError, match=r"6 blocks\); not even one token fits\. Lower"):
        check("agg8", "engine.max_model_len=1000", "engine.kv_blocks=6")


def test_a_run_is_refused_before_it_begins() -> None:
    found = CliRunner().invoke(app, ["run", "agg8", "--set", "gpu.memory_bytes=60GB"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith("Error: vLLM 0.28.0 does not start: to serve at least one request with ")


def test_capacity_shows_the_arithmetic_and_then_refuses() -> None:
    found = CliRunner().invoke(app, ["capacity", "agg8", "--set", "gpu.memory_bytes=60GB"])
    assert found.exit_code == 2
    assert "maximum concurrency" in found.stdout
    assert found.stderr.startswith("Error: vLLM 0.28.0 does not start: ")


def test_a_point_that_does_not_start_costs_no_other_point(tmp_path) -> None:
    points = ["--set", "engine.gpu_memory_utilization=0.5,0.92", "--repeat", "1", "--jobs", "1"]
    small = [part for setting in SMALL for part in ("--set", setting)]
    found = CliRunner().invoke(app, ["sweep", "agg8", *points, *small])
    assert "does not start" in found.stdout + found.stderr
    assert "0.92" in found.stdout
