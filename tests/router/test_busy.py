"""Thresholds of load, and how old what is known of loads is."""

from math import inf

import pytest
from pydantic import ValidationError

from sim.router import RouterConfig
from sim.router.busy import BusySettings, Limits, ReportedPrefill
from sim.router.report import WorkerReport

IDLE = WorkerReport(0, 0, 0, 1000)


def test_nobody_is_busy_unless_a_threshold_is_set():
    settings = BusySettings()
    assert Limits.of(settings, 8192) == (inf, inf)
    assert not settings.has_thresholds
    assert not settings.limits_prefill
    assert not Limits.of(settings, 8192).passed(10**9, WorkerReport(9, 9, 1000, 1000))


@pytest.mark.parametrize(("tokens", "busy"), [(300, False), (301, True)])
def test_more_prompt_tokens_than_the_threshold_are_too_many(tokens, busy):
    limits = Limits.of(BusySettings(active_prefill_tokens_threshold=300), 8192)
    assert limits.passed(tokens, None) is busy


@pytest.mark.parametrize(("tokens", "busy"), [(4096, False), (4097, True)])
def test_the_share_is_of_a_step_s_tokens(tokens, busy):
    limits = Limits.of(BusySettings(active_prefill_tokens_threshold_frac=0.5), 8192)
    assert limits.passed(tokens, None) is busy


def test_of_two_thresholds_the_lower_one_counts():
    both = BusySettings(active_prefill_tokens_threshold=100, active_prefill_tokens_threshold_frac=0.5)
    assert Limits.of(both, 1000).prefill_tokens == 100
    assert Limits.of(both, 100).prefill_tokens == 50


@pytest.mark.parametrize(("used", "busy"), [(500, False), (501, True), (600, True)])
def test_blocks_are_those_that_the_worker_reports(used, busy):
    # Measured: 600 of 1,000 at 0.5 is refused.
    limits = Limits.of(BusySettings(active_decode_blocks_threshold=0.5), 8192)
    assert limits.passed(10**9, IDLE._replace(used_kv_blocks=used)) is busy


def test_a_worker_that_never_reported_is_not_busy_by_its_blocks():
    assert not Limits.of(BusySettings(active_decode_blocks_threshold=0.0), 1).passed(0, None)


def test_a_booking_is_known_when_its_report_has_arrived():
    reported = ReportedPrefill(2, delay_s=0.5)
    reported.note([0, 40], 1.0)
    reported.note([7, 40], 1.25)
    assert list(reported.known(1.5)) == [0, 0]
    assert list(reported.known(1.51)) == [0, 40]
    reported.note([7, 0], 1.6)
    assert list(reported.known(1.8)) == [7, 40]
    assert list(reported.known(3.0)) == [7, 0]


@pytest.mark.parametrize(
    "bad",
    [
        {"active_decode_blocks_threshold": 1.1},
        {"active_decode_blocks_threshold": -0.1},
        {"active_prefill_tokens_threshold": -1},
        {"active_prefill_tokens_threshold_frac": float("nan")},
        {"overload_status_code": 500},
    ],
)
def test_thresholds_have_the_ranges_of_dynamo(bad):
    with pytest.raises(ValidationError):
        RouterConfig(**bad)
