"""What a run is to a fit."""

from dataclasses import replace

import numpy as np
import pytest

from sim.hardware.coefficient_file import FittedRun
from sim.measured.formats.requests_csv import RequestsRun
from sim.validation.requests.kinds import Kind, is_saturated, kind_of


def run(name: str, *, waits_s: list[float], step_s: float = 1.0) -> RequestsRun:
    """Return a run whose requests are sent at once and have these TTFTs."""
    n = len(waits_s)
    arrival_s, ttft_s = np.arange(n) * step_s, np.array(waits_s)
    return RequestsRun(name, arrival_s, arrival_s, np.full(n, 9), np.full(n, 2), ttft_s, ttft_s + 1)


@pytest.mark.parametrize(
    ("waits_s", "saturated"),
    [
        ([1.0] * 8, False),
        ([1, 1, 9, 9, 9, 9, 1, 1], False),
        ([1, 1, 2, 2, 2, 2, 2, 2], False),
        ([1, 1, 2, 2, 2, 2, 2.1, 2.1], True),
        ([1, 1, 2, 2, 2, 2, np.nan, 3], True),
        ([1, 9], False),
        ([np.nan] * 4, False),
    ],
)
def test_a_wait_that_more_than_doubles_is_saturation(waits_s: list[float], saturated: bool) -> None:
    assert is_saturated(run("any", waits_s=waits_s)) is saturated


def test_waiting_in_the_client_counts() -> None:
    recorded = run("capped", waits_s=[0.5] * 8)
    late = RequestsRun(
        "capped",
        recorded.arrival_s,
        recorded.arrival_s + np.arange(8) * 2.0,
        recorded.input_tokens,
        recorded.output_tokens,
        recorded.ttft_s,
        recorded.e2e_s,
    )
    assert is_saturated(late)


def test_runs_are_fitted_repeats_or_new() -> None:
    first, again = run("first", waits_s=[1.0] * 8), run("again", waits_s=[1.1] * 8)
    other = run("other", waits_s=[1.0] * 8, step_s=1.0003)
    later = replace(again, arrival_s=again.arrival_s + 7.12345, send_s=again.send_s + 7.12345)
    fitted = [FittedRun(run="first", arrivals=first.arrivals_fingerprint())]
    assert kind_of(first, fitted) == Kind("fitted", saturated=False)
    assert kind_of(again, fitted) == Kind("repeat", saturated=False, repeats="first")
    assert kind_of(later, fitted) == kind_of(again, fitted)
    assert kind_of(other, fitted) == Kind("new", saturated=False)
    assert kind_of(first, []) == Kind("new", saturated=False)
