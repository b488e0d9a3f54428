"""Fitting the law to known steps: every number comes back, whatever the dense part looks like."""

import pytest

from sim.hardware.aic.fit import KNOTS, fitted
from sim.hardware.aic.steps import AicSteps, Timed
from sim.hardware.step_time import StepLaw
from tests.hardware.aic.made_up import HEAD_MS, LAUNCH_MS, MadeUp, dense_ms


def test_steps_add_up_operations_by_source() -> None:
    steps = AicSteps(MadeUp())
    # 4.01 + 0.01 x 1 new tokens, of which 1 ms is a formula; 100.5 pairs of attention are scaled.
    found = steps.prefill(1, 100)
    assert found.s == pytest.approx((4.01 + LAUNCH_MS + 100.5e-6 + HEAD_MS) * 1e-3)
    assert found.by_source == pytest.approx((3.26e-3, 1e-3, (LAUNCH_MS + 100.5e-6) * 1e-3))
    assert steps.decode(2, 1000).s == pytest.approx((4.02 + 0.04 + 0.1 + HEAD_MS) * 1e-3)


def test_a_prefill_without_an_output_head_gets_that_of_a_decode() -> None:
    """AIConfigurator's mixtures of experts have none in a prefill; vLLM computes a row for every prompt."""
    without, having = AicSteps(MadeUp(head_in_prefill=False)), AicSteps(MadeUp())
    assert without.prefill(512, 0).s == pytest.approx(having.prefill(512, 0).s)
    assert without.mixed_s(512, 4, 512) == pytest.approx(having.mixed_s(512, 4, 512))
    assert without.decode(4, 512) == having.decode(4, 512)


def test_the_made_up_law_comes_back() -> None:
    steps = AicSteps(MadeUp())
    found = fitted(steps, smooth_max_p=3.6)
    assert found.step.a_pair_s == pytest.approx(1e-9, rel=1e-3)
    assert found.step.c_kv_s_per_token == pytest.approx(50e-9, rel=1e-3)
    assert found.step.c_seq_s == pytest.approx(20e-6, rel=1e-3)
    law = StepLaw(found.step, found.table)
    for tokens in KNOTS:
        expected_ms = dense_ms(tokens) + LAUNCH_MS + HEAD_MS + 1e-6 * tokens**2 / 2 + 0.02
        assert law.step_s([(tokens, 0)], 0, 0) == pytest.approx(expected_ms * 1e-3, rel=2e-3), tokens
    for batch in (1, 8, 32, 128):
        expected_ms = dense_ms(batch) + 0.02 * batch + HEAD_MS + 50e-6 * batch * 4096
        assert law.step_s([], batch, batch * 4096) == pytest.approx(expected_ms * 1e-3, rel=2e-3)
    prefill, decode, both = found.held_out
    # Only between 16 and 32 tokens, where the made-up one jumps, is a straight line off.
    assert prefill.mape < 0.01
    assert decode.largest is not None
    assert decode.mape < 0.02 < decode.largest < 0.25
    assert both.mape < 0.01


def test_a_longer_step_bounds_a_shorter_one() -> None:
    """Tables jump to kernels whose times fall with more tokens; rows that nobody needs could be added."""

    def jumping(tokens: int) -> float:
        return 30.0 if tokens in {257, 384} else 5.0 + 0.01 * tokens

    found = fitted(AicSteps(MadeUp(dense=jumping)), smooth_max_p=3.6)
    law = StepLaw(found.step, found.table)
    assert law.step_s([(384, 0)], 0, 0) == pytest.approx(law.step_s([(512, 0)], 0, 0), rel=0.01)


def test_times_are_of_one_length_for_both() -> None:
    with pytest.raises(ValueError, match="one length"):
        AicSteps(MadeUp()).mixed_s(100, 1, 200)
    assert Timed(1.0, (1.0, 0.0, 0.0)).s == 1.0
