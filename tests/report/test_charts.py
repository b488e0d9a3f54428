"""Charts: places of values, what they say, and their numbers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.report.causes import cause_charts, legend
from sim.report.latencies import latency_charts
from sim.report.levels import BLOCKS, REQUESTS, Capacity, LevelSeries
from sim.report.line_labels import LABEL_WIDTH, placed
from sim.report.links import link_uses
from sim.report.names import WorkerNames
from sim.report.scales import Scale, count_tick, percent_tick, spanning, time_tick
from sim.report.workers import worker_charts
from sim.results.rows import Rows
from tests.report.html import parse
from tests.report.runs import small_run

NAMES = WorkerNames(2)


# -- scales -------------------------------------------------------------------------------------------------


def test_places_on_a_linear_and_a_logarithmic_axis() -> None:
    linear, logarithmic = Scale(0, 10, 50, 150), Scale(0.01, 1, 0, 100, logarithmic=True)
    assert [linear(0), linear(2.5), linear(10)] == [50, 75, 150]
    assert [logarithmic(0.01), logarithmic(0.1), logarithmic(1)] == pytest.approx([0, 50, 100])
    assert Scale(0, 1, 100, 0)(0.25) == 75


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 810, 0, 1), [0, 200, 400, 600, 800]),
        (Scale(0, 3, 0, 1), [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        (Scale(0.9, 21, 0, 1, logarithmic=True), [1, 2, 5, 10, 20]),
        (Scale(0.015, 3, 0, 1, logarithmic=True), [0.03, 0.1, 0.3, 1, 3]),
        (Scale(0.001, 5000, 0, 1, logarithmic=True), [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
    ],
)
def test_ticks_are_round_and_few(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


def test_wide_ranges_are_logarithmic_and_others_start_at_0() -> None:
    assert spanning(1, 20, 0, 1).logarithmic
    assert spanning(1, 19, 0, 1) == Scale(0, 19, 0, 1)
    assert spanning(0, 1000, 0, 1) == Scale(0, 1000, 0, 1)
    assert spanning(0, 0, 0, 1).high == 1


def test_how_axes_write() -> None:
    assert [time_tick(value) for value in (0, 0.02, 1.5, 1500)] == ["0", "20 ms", "1.5 s", "1,500 s"]
    assert [count_tick(value) for value in (0, 500, 1500, 2e6)] == ["0", "500", "1.5K", "2M"]
    assert percent_tick(0.25) == "25 %"


# -- latencies ----------------------------------------------------------------------------------------------


def test_histograms_hold_every_sample() -> None:
    result = small_run()
    charts = latency_charts(result.rows, result.to_dict())
    assert [chart.title.rpartition("(")[2] for chart in charts] == ["TTFT)", "ITL)", "E2E)"]
    ttft, itl, _ = charts
    assert ttft.says == "Of 3 requests, half took at most 1.00 s, 95 % at most 1.90 s, the longest 2.00 s."
    assert itl.says == "Of 6 gaps, half took at most 1.00 s, 95 % at most 1.00 s, the longest 1.00 s."
    bars = parse(ttft.svg).all("rect")
    assert [bar.one("title").text.rpartition(": ")[2] for bar in bars] == ["66.7 %", "33.3 %"]
    low, high = (float(bar["height"]) for bar in bars)
    assert low == pytest.approx(2 * high, abs=0.2)
    assert ttft.table is not None
    assert [row[2] for row in ttft.table.rows if row[2] != "0 %"] == ["66.7 %", "33.3 %"]


def test_only_completed_requests_have_a_latency() -> None:
    rows = Rows()
    rows.row("requests", status="unfinished", ttft_s=3.0)
    assert latency_charts(rows, {}) == []


# -- causes -------------------------------------------------------------------------------------------------


def requests(*rows: tuple[int, float, int, int]) -> pd.DataFrame:
    """Worker, time of being scheduled, tokens that were elsewhere, tokens on their way."""
    frame = pd.DataFrame(
        rows, columns=["worker", "first_scheduled_s", "elsewhere_tokens", "in_flight_tokens"]
    )
    return frame.assign(gone_tokens=0)


def test_causes_are_stacked_by_time_and_by_worker() -> None:
    by_cause = {"in_flight": 10, "elsewhere": 90, "gone": 0}
    summary = {"simulated_s": 24.0, "prefill": {"by_cause": by_cause}}
    found = requests((0, 0.5, 30, 0), (1, 3.5, 60, 5), (0, 3.9, 0, 5), (0, np.nan, 0, 0))
    time, worker = cause_charts(found, summary, NAMES)

    assert [(cause.name, cause.tokens, cause.share) for cause in legend(by_cause)] == [
        ("in_flight", "10", "10.0 %"),
        ("elsewhere", "90", "90.0 %"),
    ]
    assert time.says.endswith("Most in the 1.00 s from 3.00 s on: 70 of 100.")
    assert time.table is not None
    assert time.table.columns == ("first scheduled", "on its way (in flight)", "on another worker")
    assert [row for row in time.table.rows if row[1:] != ["0", "0"]] == [
        ["0 s to 1.00 s", "0", "30"],
        ["3.00 s to 4.00 s", "10", "60"],
    ]
    bars = parse(time.svg).all("rect")
    assert [bar["class"] for bar in bars] == ["cause elsewhere", "cause in_flight", "cause elsewhere"]
    below, above = bars[1:]
    assert float(above["y"]) + float(above["height"]) == pytest.approx(float(below["y"]), abs=0.2)
    assert float(above["height"]) == pytest.approx(6 * float(below["height"]), abs=0.5)

    assert worker.says == "Most by worker 1: 65 tokens."
    assert worker.table is not None
    assert worker.table.rows == [["worker 0", "5", "30"], ["worker 1", "5", "60"]]


def test_of_many_workers_those_that_recomputed_most_are_shown() -> None:
    found = requests(*((worker, 1.0, 100 + worker, 0) for worker in range(20)))
    summary = {
        "simulated_s": 2.0,
        "prefill": {"by_cause": {"elsewhere": int(found["elsewhere_tokens"].sum())}},
    }
    _, worker = cause_charts(found, summary, WorkerNames(20))
    assert worker.says.endswith("Shown are the 16 of 20 workers with most.")
    assert worker.table is not None
    assert [row[0] for row in worker.table.rows] == [f"worker {n}" for n in range(4, 20)]


def test_without_recomputation_there_is_no_chart() -> None:
    assert cause_charts(requests(), {"prefill": {"by_cause": {"gone": 0}}}, NAMES) == []


# -- workers ------------------------------------------------------------------------------------------------


def levels(*rows: tuple[float, int, int, int, int | None]) -> pd.DataFrame:
    """Time, running, waiting, GPU blocks, CPU blocks of worker 0."""
    columns = ["now_s", "running", "waiting", "used_blocks", "cpu_used_blocks"]
    frame = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], "Int64"))
    return frame.assign(worker=0, **{f"most_{name}": frame[name] for name in columns[1:]})


def changes(course: LevelSeries, parts: int) -> list[list[float]]:
    """Time, lowest, highest, last of requests that run."""
    found = course.changes(REQUESTS[0], parts)
    return [list(map(float, change)) for change in zip(*found, strict=True)]


def test_means_are_over_the_time_of_the_run() -> None:
    course = LevelSeries(
        levels((30, 2, 0, 50, None), (60, 1, 3, 25, None), (75, 0, 0, 0, None)), Capacity(100, None), 150, 1.0
    )
    assert course.mean(REQUESTS[0]) == (2 * 30 + 1 * 15) / 150
    assert course.highest(REQUESTS[1]) == 3
    assert course.mean(BLOCKS[0]) == (0.5 * 30 + 0.25 * 15) / 150
    assert not course.has(BLOCKS[1])


def test_a_few_changes_stand_at_their_own_times() -> None:
    course = LevelSeries(
        levels((0.21, 5, 0, 0, 0), (0.22, 1, 0, 0, 0), (2.5, 3, 0, 0, 0)), Capacity(1, 1), 150, 1.0
    )
    assert changes(course, 3) == [[0.21, 5, 5, 5], [0.22, 1, 1, 1], [2.5, 3, 3, 3]]


def test_of_many_changes_a_part_has_the_lowest_and_the_highest_and_ends_as_the_last() -> None:
    rows = levels((0, 2, 0, 0, 0), (1, 5, 0, 0, 0), (2, 1, 0, 0, 0), (3, 4, 0, 0, 0), (120, 3, 0, 0, 0))
    course = LevelSeries(rows, Capacity(1, 1), 150, 0.0)
    assert changes(course, 3) == [[0, 1, 5, 4], [100, 3, 3, 3]]


def test_the_highest_values_are_those_between_the_rows_too() -> None:
    rows = levels((0.2, 1, 0, 0, 0), (0.4, 0, 0, 0, 0), (2.5, 0, 0, 0, 0)).assign(most_running=[4, 1, 7])
    course = LevelSeries(rows, Capacity(1, 1), 150, 1.0)
    assert course.highest(REQUESTS[0]) == 7
    assert changes(course, 9) == [[0.2, 1, 4, 1], [0.4, 0, 1, 0], [2.5, 0, 7, 0]]
    assert changes(course, 2) == [[0, 0, 7, 0]]


def test_rows_are_known_to_be_all_changes_or_not() -> None:
    def has_all(rows: pd.DataFrame, interval_s: float = 1.0) -> bool:
        return LevelSeries(rows, Capacity(1, 1), 2_000, interval_s).has_all

    two = levels((0.2, 1, 0, 0, 0), (0.4, 2, 0, 0, 0), (2.5, 0, 0, 0, 0))
    apart = levels((0.2, 1, 0, 0, 0), (1.4, 2, 0, 0, 0))
    long = levels(*((float(second), second % 2, 0, 0, 0) for second in range(1_002)))
    assert has_all(two)  # thinned, an interval has one row
    assert has_all(apart)
    assert not has_all(apart.assign(most_running=[1, 3]))
    assert not has_all(long)
    assert has_all(long, interval_s=0.0)


def test_a_run_that_thins_its_table_says_so_and_one_that_does_not_is_drawn_whole() -> None:
    kept = small_run(output={"worker_interval_s": 0.0})
    frame = kept.rows.frame("workers")
    charts = worker_charts(frame, [Capacity(300, None)] * 2, 60.0, 0.0, NAMES)
    assert charts.thinned == 0
    running = parse(charts.shown[0].svg).all("path")[0]["d"]
    changed = frame[(frame["worker"] == 0)]["running"].diff().fillna(frame["running"].iloc[0])
    assert running.count("V") == (changed != 0).sum() > 2


# -- labels of lines ----------------------------------------------------------------------------------------


@given(st.lists(st.floats(52, 360), min_size=1, max_size=3).map(sorted))
def test_no_line_crosses_a_label_and_none_leaves_the_drawing(places: list[float]) -> None:
    labels = placed([(place, "") for place in places], 380.0)
    assert sorted(label.row for label in labels) == list(range(len(places)))
    for label in labels:
        left = label.place - LABEL_WIDTH if label.on_the_left else label.place
        assert -1 <= left <= 380 - LABEL_WIDTH + 1
        for line in labels:
            if line.row < label.row:
                assert not left < line.place < left + LABEL_WIDTH


def test_workers_say_what_they_had_at_most() -> None:
    rows = levels((0, 2, 1, 50, 10), (5, 0, 0, 0, 20))
    charts = worker_charts(rows, [Capacity(100, 40)], 10.0, 1.0, NAMES)
    (chart,) = charts.shown
    assert chart.title == "Worker 0"
    assert (
        chart.says
        == "At most 2 running, 1 waiting, 50.0 % of GPU blocks in use, 50.0 % of CPU blocks filled."
    )
    assert charts.table.rows == [["worker 0", "1", "2", "0.500", "1", "25.0 %", "50.0 %", "37.5 %", "50.0 %"]]
    assert len(parse(chart.svg).all("path")) == 4


def test_of_many_workers_the_busiest_have_a_chart() -> None:
    rows = pd.concat([levels((0, worker, 0, 0, None)).assign(worker=worker) for worker in range(20)])
    charts = worker_charts(rows, [Capacity(1, None)] * 20, 10.0, 1.0, WorkerNames(20))
    assert [chart.title for chart in charts.shown] == [f"Worker {n}" for n in range(4, 20)]
    assert (charts.more, len(charts.table.rows)) == (4, 20)


# -- links --------------------------------------------------------------------------------------------------


def test_the_busiest_links_come_first_and_idle_ones_are_counted() -> None:
    rows = Rows()
    for kind, owner, direction, transfers, utilisation in (
        ("pcie", 1, "to_gpu", 3, 0.25),
        ("roce", 0, "in", 2, 0.5),
        ("nvlink", 0, "out", 0, 0.0),
    ):
        rows.row(
            "links",
            kind=kind,
            owner=owner,
            direction=direction,
            bandwidth_bytes_per_s=5e10,
            transfers=transfers,
            n_bytes=transfers * 10**9,
            busy_s=1.0,
            waiting_s=0.002,
            utilisation=utilisation,
        )
    uses = link_uses(rows.frame("links"), WorkerNames(3, prefill=1))
    assert [tuple(use) for use in uses.shown] == [
        ("RoCE of node 0, in", 0.5, "50.0 %", "2.000 GB", "2", "50.00 GB/s", "2.00 ms"),
        ("PCIe of decode worker 1, to the GPU", 0.25, "25.0 %", "3.000 GB", "3", "50.00 GB/s", "2.00 ms"),
    ]
    assert (uses.more, uses.idle) == (0, 1)
