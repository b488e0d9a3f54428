"""The times of Dynamo's mocker: those that its replay gives, bit by bit, and in a run."""

import pytest
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.hardware.mocker_law import MockerLaw
from sim.scenario.load import load_scenario
from sim.simulation.run import run
from tests.clusters import scenario, trace, turn
from tests.hardware.step_law_contract import StepLawContract

POOL_TOKENS = 4096 * 64
LAW, PREFILL, DECODE = (MockerLaw(stage, POOL_TOKENS, 8192) for stage in ("aggregated", "prefill", "decode"))

stages = st.sampled_from(("aggregated", "prefill", "decode"))
tokens = st.integers(1, 10**7)


def test_times_are_those_of_dynamos_replay() -> None:
    """As `run_trace_replay` of Dynamo 1.4.2 reported them, in milliseconds; prompts of whole blocks of 64."""
    assert LAW.step_s([(1024, 0)], 0, 0) * 1e3 == pytest.approx(38.441296, abs=1e-6)
    assert LAW.step_s([(64, 960)], 0, 0) * 1e3 == pytest.approx(23.425469, abs=1e-6)
    assert LAW.step_s([], 1, 1087) * 1e3 == pytest.approx(5.963719, abs=1e-6)
    assert PREFILL.step_s([(1000, 0)], 0, 0) * 1e3 == pytest.approx(32.105859, abs=1e-6)
    assert DECODE.step_s([], 1, 1023) * 1e3 == pytest.approx(5.950584, abs=1e-6)
    # Two chunks; 10,000 tokens are 157 blocks.
    chunks_s = LAW.step_s([(8192, 0)], 0, 0) + LAW.step_s([(1856, 8192)], 0, 0)
    assert chunks_s * 1e3 - 48 * (1.518344e-2 + 4.209989e-7 * 3664) == pytest.approx(222.238576, abs=1e-6)


def test_only_a_step_that_gives_tokens_has_a_decode() -> None:
    full, half = (8192, 0), (4096, 0)
    without = PREFILL.step_s([full], 0, 0)
    assert LAW.step_s([full], 0, 0) == without
    assert LAW.step_s([half, half], 0, 0) > without
    assert LAW.step_s([(8191, 0)], 1, 100) > without
    assert LAW.step_s([(8191, 0)], 0, 0) > without


def test_a_prefill_worker_only_prefills_and_a_decode_worker_only_decodes() -> None:
    assert PREFILL.step_s([], 1, 1000) == PREFILL.step_s([(1, 1000)], 0, 0) > 16.5e-3
    assert DECODE.step_s([(500, 500)], 1, 1000) == DECODE.step_s([], 2, 1999)
    assert [law.step_s([], 0, 0) for law in (LAW, PREFILL, DECODE)] == [0, 0, 0]


def test_the_pool_is_never_more_than_full() -> None:
    full_s = LAW.step_s([], 1, POOL_TOKENS - 1)
    assert full_s * 1e3 == pytest.approx(34.01, abs=1e-9)
    assert LAW.step_s([], 3, 2 * POOL_TOKENS) == full_s == LAW.decode_s(3, 2 * POOL_TOKENS, 1)[0]


class TestContract(StepLawContract):
    laws = st.builds(MockerLaw, stages, tokens, st.just(10**9))


def test_a_scenario_chooses_it_and_the_results_say_so() -> None:
    settings = scenario(timing={"preset": "dynamo-mocker"}, engine={"kv_blocks": 64})
    result = run(settings, trace=trace(turn(0, 48, 2, [1, 2, 3])))
    law = MockerLaw("aggregated", 64 * 16, 64)
    assert result.numbers["ttft_s.mean"] == law.step_s([(48, 0)], 0, 0)
    assert result.numbers["itl_s.mean"] == pytest.approx(law.step_s([], 1, 48), rel=1e-12)
    assert result.notes[0].startswith(
        "step times (dynamo-mocker): the polynomial of NVIDIA Dynamo 1.4.2's mocker"
    )
    assert "no measurement" in result.notes[0]


def test_each_leg_of_a_disaggregated_cluster_has_its_own() -> None:
    settings = scenario(
        timing={"preset": "dynamo-mocker"},
        workers={"count": None, "prefill": 1, "decode": 1},
        disaggregation={"decode_kv_blocks": 32},
    )
    result = run(settings, trace=trace(turn(0, 48, 3, [1, 2, 3])))
    law = MockerLaw("decode", 32 * 16, 64)
    assert result.numbers["itl_s.max"] == pytest.approx(law.step_s([], 1, 49), rel=1e-12)
    [prefilled_s] = result.rows.frame("requests")["prefilled_s"]
    assert prefilled_s == MockerLaw("prefill", 1, 64).step_s([(48, 0)], 0, 0)


def test_it_is_not_mixed_with_coefficients() -> None:
    with pytest.raises(
        InputError, match=r'"dynamo-mocker" is a law of its own: leave out .* or a_pair_s, c_pf_s'
    ):
        load_scenario("agg8", ["timing.preset=dynamo-mocker", "timing.a_pair_s=1ns", "timing.c_pf_s=0"])
    with pytest.raises(InputError, match=r"timing\.preset"):
        load_scenario("agg8", ["timing.preset=dynamo-moker"])
    times = load_scenario("agg8", ["timing.preset=dynamo-mocker", "frontend.alpha_in_s=0"]).coefficients()
    assert times.summary.endswith("replay only; given in the scenario: alpha_in_s")
