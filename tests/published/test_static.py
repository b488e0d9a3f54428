"""Rows that need no run."""

import pytest

from sim.published.cluster import read_cluster
from sim.published.static import StaticScore, StaticSettings


@pytest.fixture(scope="module")
def scores() -> dict[str, StaticScore]:
    return {score.target.id: score for score in read_cluster("talk").static_scores()}


@pytest.mark.slow
def test_every_static_row_of_the_talk_but_the_context_holds(scores: dict[str, StaticScore]) -> None:
    """As the recorded sessions have 211K tokens, those fitted to them have 219K; printed are 210 to 216K."""
    assert len(scores) == 11
    assert [name for name, score in scores.items() if not score.holds] == ["ctx"]
    assert scores["ctx"].value == pytest.approx(219_321, abs=1)


def test_the_costs_of_the_slide(scores: dict[str, StaticScore]) -> None:
    # A: 20 + 100 - 70 to prefill, 15 + 5 active. B: 0 + 100 - 20, 8 + 2.
    assert scores["cost_a"].value == 50 + 20
    assert scores["cost_b"].value == 80 + 10


def test_bytes_are_in_the_units_of_the_row(scores: dict[str, StaticScore]) -> None:
    # 32 KiB a token, and 213,000 of them with their recurrent state.
    assert scores["kv_token"].value == 32.0
    state_gib = scores["ssm_state"].value / 1024
    assert scores["session_bytes"].value == pytest.approx(213_000 * 32 / 1024**2 + state_gib)


def test_one_set_of_sessions_is_not_the_next(scores: dict[str, StaticScore]) -> None:
    found = scores["ctx"]
    assert found.interval is not None
    low, high = found.interval
    assert low < found.value < high


def test_memory_is_counted_as_the_release_does_that_ran() -> None:
    """Logs of vLLM 0.14.1 say 348,304, 347,488 and 369,568 tokens; 0.28.0 has 356,864 for the first."""
    scores = {score.target.id: score for score in read_cluster("h200-vllm-budget").static_scores()}
    assert scores["memory_base_tokens"].value == 348_528
    assert scores["memory_batch16k_tokens"].value == 347_712
    assert scores["memory_seqs128_tokens"].value == 369_968
    assert scores["memory_base_tokens"].target.fitted
    assert not scores["memory_seqs128_tokens"].target.fitted


def test_a_release_whose_memory_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be '0\.28\.0' or '0\.14\.1'"):
        StaticSettings.model_validate({"vllm": "0.9"})
