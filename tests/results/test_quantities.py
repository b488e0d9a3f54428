"""The numbers of a summary by name."""

import pytest

from sim.base.errors import InputError
from sim.results.quantities import (
    COUNT,
    MAIN,
    PLAIN,
    SECONDS,
    SHARE,
    TOKENS,
    flat,
    label,
    names_in,
    select,
    select_or,
    unit,
)
from tests.results.test_metrics import completed, summary

SUMMARY = {
    "schema_version": 1,
    "ttft_s": {"n": 3, "p50": 1.5, "p99": 2.5, "p99.9": None},
    "thin_percentiles": ["ttft_s.p50"],
    "requests": {"rejected_by_reason": {}},
    "occupancy": {"cpu_tier": None},
    "on": True,
    "gpu_hours": 2,
}


def test_numbers_by_dotted_name():
    assert flat(SUMMARY) == {
        "ttft_s.n": 3,
        "ttft_s.p50": 1.5,
        "ttft_s.p99": 2.5,
        "ttft_s.p99.9": None,
        "requests.rejected_by_reason": None,
        "occupancy.cpu_tier": None,
        "gpu_hours": 2,
    }


def test_a_table_that_is_null_in_one_run_has_its_numbers_from_another():
    other = flat({"occupancy": {"cpu_tier": {"mean": 0.5}}, "gpu_hours": 1})
    assert names_in([flat(SUMMARY), other]) == [
        "ttft_s.n",
        "ttft_s.p50",
        "ttft_s.p99",
        "ttft_s.p99.9",
        "requests.rejected_by_reason",
        "gpu_hours",
        "occupancy.cpu_tier.mean",
    ]


def test_the_main_numbers_are_in_every_summary():
    known = list(flat(summary(completed())))
    assert select(MAIN, known) == list(MAIN)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ttft_s.p99.9", ["ttft_s.p99.9"]),
        ("ttft_s", ["ttft_s.n", "ttft_s.p50", "ttft_s.p99", "ttft_s.p99.9"]),
        ("ttft_s.p99", ["ttft_s.p99"]),
        ("occupancy.cpu_tier.mean", ["occupancy.cpu_tier.mean"]),
        (
            "requests.rejected_by_reason.prompt_exceeds_pool",
            ["requests.rejected_by_reason.prompt_exceeds_pool"],
        ),
    ],
)
def test_a_name_stands_for_a_number_or_for_all_of_a_table(name, found):
    assert select([name, name], list(flat(SUMMARY))) == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recomputation", "did you mean prefill.recomputation or"),
        ("ttft_s.p51", " or ttft_s.p50"),
        ("ttft.p50", "did you mean ttft_s.p50 or"),
        ("requests.done", "did you mean requests.total"),
        ("p50x.y.z", "; it has e2e_s, from_due, goodput, gpu_hours,"),
        ("workers_per_session.", "did you mean workers_per_session.m"),
        ("thin_percentiles", "no number of the summary has this name"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, message):
    with pytest.raises(InputError) as error:
        select(["gpu_hours", name], list(flat(summary(completed()))))
    assert str(error.value).startswith(f"--metric {name}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("ttft_s.p50", "TTFT p50", SECONDS),
        ("itl_s.p99.9", "ITL p99.9", SECONDS),
        ("itl_s.n", "ITL n", COUNT),
        ("prefill.recomputation", "Recomputation", SHARE),
        ("prefill.by_cause.elsewhere", "Recomputed: on another worker", TOKENS),
        ("prefill.by_cause.new_cause", "Recomputed: new_cause", TOKENS),
        ("prefill.by_source.local_compute", "Prompt tokens: computed", TOKENS),
        ("router.overcredit_tokens", "Over-credit tokens", TOKENS),
        ("occupancy.pool.max", "occupancy.pool.max", SHARE),
        ("goodput.share", "goodput.share", SHARE),
        ("throughput.requests_per_s", "Requests/s", PLAIN),
        ("workers_per_session.mean", "Workers a session", PLAIN),
        ("simulated_s", "Simulated time", SECONDS),
        ("pools.decode.wait_s", "pools.decode.wait_s", SECONDS),
        ("requests.completed", "Requests completed", COUNT),
        ("preemptions", "Preemptions", COUNT),
    ],
)
def test_how_a_number_is_called_and_shown(name, text, kind):
    assert label(name) == text
    assert unit(name) is kind


def test_a_share_differs_by_percentage_points_and_a_count_has_no_decimals():
    assert (SHARE.show(0.5), SHARE.show_difference(-0.125)) == ("50.0 %", "-12.5 pp")
    assert (COUNT.show(240.0), COUNT.show(239.5), COUNT.show(None)) == ("240", "240", "-")
    assert COUNT.show(11.5) == "11.5"


def test_usual_numbers_that_no_run_has_are_left_out_but_not_those_asked_for():
    """As of runs that an earlier version kept."""
    known = ["ttft_s.p50", "gpu_hours"]
    assert select_or((), MAIN, known) == known
    with pytest.raises(InputError, match=r"--metric late_s\.mean: no number"):
        select_or(["late_s.mean"], MAIN, known)
