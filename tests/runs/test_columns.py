"""Comparisons as data frames."""

from math import exp

import pandas as pd
import pytest

from sim.runs.columns import summary_frame, wide_table
from sim.runs.comparison import Comparison
from tests.runs.comparisons import made, two_points


def test_a_frame_has_a_row_a_run_and_a_column_a_number() -> None:
    frame = wide_table(two_points()).to_pandas()
    assert len(frame) == 12
    assert list(frame.columns) == [
        "scenario",
        "workload.sessions",
        "seed",
        "draw",
        "error",
        "ttft_s.p50",
        "prefill.recomputation",
        "prefill.by_cause.elsewhere",
        "requests.completed",
    ]
    assert frame.groupby("scenario")["ttft_s.p50"].mean().to_dict() == {"fast": 2.0, "slow": 3.5}


def test_a_summary_has_means_intervals_and_distances() -> None:
    summary = summary_frame(two_points(), ["ttft_s.p50"])
    fast, slow = (row for _, row in summary[summary["workload.sessions"] == 12].iterrows())
    assert (fast["metric"], fast["unit"], fast["scenario"], fast["mean"]) == ("ttft_s.p50", "s", "fast", 2.0)
    # 4.303 is Student's t of two degrees of freedom; half of the interval's width is that of a mean of 2.
    width = exp(4.30265 / 3**0.5 / 2)
    assert (fast["low"], fast["high"]) == (pytest.approx(2 / width), pytest.approx(2 * width))
    assert pd.isna(fast["difference"])
    # Differences of the pairs are 1, 2 and 3; the ratio is 2 for each.
    assert (slow["difference"], slow["ratio"]) == (2.0, 2.0)
    assert slow["difference_low"] == pytest.approx(2 - 4.30265 / 3**0.5, abs=1e-5)
    assert (slow["ratio_low"], slow["ratio_high"]) == (pytest.approx(2.0), pytest.approx(2.0))


def test_one_seed_has_no_interval() -> None:
    summary = summary_frame(Comparison(["a", "b"], [made("a", 2.0), made("b", 3.0)]), ["ttft_s.p50"])
    assert summary["mean"].tolist() == [2.0, 3.0]
    assert summary[["low", "high", "difference_low", "ratio_high"]].isna().all().all()
    assert summary["difference"].tolist()[1] == 1.0
