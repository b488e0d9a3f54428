"""What a search for cluster sizes found, worked out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from rich.console import Console

from sim.base.limits import Limit
from sim.runs.cost import Price
from sim.runs.floor import COLD_NAME, WARM_NAME, Floor, is_bounded
from sim.runs.layouts import Configuration, Layout
from sim.runs.run import Run
from sim.runs.sizing import Sized
from sim.runs.tried import Tried, by_size
from sim.show.pictures.sizing import plot_frontier, write_frontier
from sim.show.text.sizing import render_sized

GIB = 2**30
LIMIT = Limit.read("ttft_s.p95<4", "--slo")


def tried(layout: Layout, gib: int, *latencies_s: float, error: str = "", completed: int = 10) -> Tried:
    runs = [
        Run(
            "a",
            {},
            {},
            seed,
            {
                "ttft_s": {"p95": latency_s},
                "prefill": {"recomputation": 0.25},
                "gpu_hours": layout.gpus / 10,
                "requests": {"total": 10, "completed": completed},
            },
            ["a note"],
        )
        for seed, latency_s in enumerate(latencies_s)
    ]
    if error:
        runs.append(Run("a", {}, {}, len(runs), None, error=error))
    return Tried(Configuration(layout, gib * GIB), [LIMIT], runs)


ALL = [
    tried(Layout(4), 64, 3.0, 3.5),
    tried(Layout(2), 64, 5.0),
    tried(Layout(6), 0, 2.5, 3.5),
    tried(Layout(3, 1), 64, 2.0, 2.4),
    tried(Layout(1, 3), 64, 9.0),
    tried(Layout(1), 0, error="no room"),
]


def sized(smallest: list[Tried]) -> Sized:
    return Sized("agg8", [LIMIT], [0, 1], smallest, ALL, 12, 4)


def shown(found: Sized) -> list[str]:
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        console.print(render_sized(found))
    assert max(map(len, capture.get().splitlines())) <= 100
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_a_cluster_holds_with_every_seed() -> None:
    assert tried(Layout(1), 0, 3.0, 4.0).holds
    assert not tried(Layout(1), 0, 3.0, 4.1).holds
    assert tried(Layout(1), 0, 3.0, 5.0).margin == -0.25


def test_a_cluster_that_fails_or_leaves_requests_has_no_margin() -> None:
    assert tried(Layout(1), 0, 1.0, error="no room").margin is None
    assert tried(Layout(1), 0, 1.0, completed=9).margin is None


def test_fewest_gpus_come_first_then_least_host_ram() -> None:
    order = sorted([ALL[2], ALL[0], ALL[3]], key=by_size)
    # 4 GPUs each, host RAM for 3 and for 4 of them.
    assert order == [ALL[3], ALL[0], ALL[2]]


def test_the_frontier_is_what_nothing_cheaper_beats() -> None:
    names = [str(found.configuration.layout) for found in sized([]).frontier("ttft_s.p95")]
    assert names == ["2", "3P1D"]


def test_a_person_reads_clusters_and_what_was_tried() -> None:
    lines = shown(sized([ALL[3], ALL[0], ALL[2]]))

    assert lines[0] == "agg8: clusters with TTFT p95 < 4.00 s at 12 sessions 6 tried, seeds 0, 1"
    start = next(place for place, line in enumerate(lines) if line.startswith("4 3P1D"))
    # The worst seed of each, a run's GPU hours, and those of 1,000 requests where it completes 10.
    assert lines[start : start + 3] == [
        "4 3P1D 64 GiB 2.40 s - 0.400 40.0",
        "4 aggregated 64 GiB 3.50 s - 0.400 40.0",
        "6 aggregated none 3.50 s - 0.600 60.0",
    ]
    tried_at = next(place for place, line in enumerate(lines) if line.startswith("Tried"))
    assert lines[tried_at + 1 : tried_at + 4] == [
        "aggregated none 6 1",
        "aggregated 64 GiB 4 2",
        "disaggregated 64 GiB 3P1D 1P3D",
    ]
    assert "· 3 clusters did not hold with seed 0, and were not run with the others" in lines
    assert "· failed: no room" in lines
    assert "· a note" in lines


def test_a_person_is_told_that_none_holds_and_which_come_nearest() -> None:
    lines = shown(sized([]))
    assert "· none of these clusters holds; above are those that come nearest" in lines
    assert next(line for line in lines if line.startswith("4 ")).startswith("4 3P1D")
    assert any("9.00 s !" in line for line in lines)


def test_money_stands_beside_clusters_if_a_gpu_hour_has_a_price() -> None:
    priced = replace(sized([ALL[3]]), price=Price.read("2.50 EUR", "--price-per-gpu-hour"))
    text = " ".join(shown(priced))
    # 4 GPUs x 24 h x 2.50; 40 GPU hours a thousand requests.
    assert "240.00 EUR 100.00 EUR" in text
    assert "at 2.50 EUR a GPU hour" in text
    assert priced.to_dict()["smallest"][0]["cost"] == {"a_day": 240.0, "a_thousand_requests": 100.0}
    assert sized([ALL[3]]).to_dict()["smallest"][0]["cost"] is None


def alone(name: str, ttft_s: float, later_s: float, *, completed: int = 10) -> Run:
    requests = {"total": 10, "completed": completed, "rejected": 10 - completed, "unfinished": 0}
    first = {"requests": {"total": 4, "completed": 4}, "prompt_tokens": 820_000, "hit_share": 0.0}
    summary = {
        "requests": requests,
        "ttft_s": {"p95": ttft_s},
        "by_turn": {"first": first, "later": {"ttft_s": {"p95": later_s}}},
    }
    return Run(name, {}, {}, 0, summary)


def floor(ttft_s: float, *, exact: bool = True, completed: int = 10) -> Floor:
    warm = [alone(WARM_NAME, ttft_s, 2.2, completed=completed), alone(WARM_NAME, ttft_s + 1, 2.5)]
    return Floor(warm, [alone(COLD_NAME, 9.0, 8.0)], exact)


def test_a_limit_below_the_floor_is_said_before_anything_is_tried() -> None:
    found = replace(sized([]), tried=[], floor=floor(26.0))
    assert found.in_vain
    text = " ".join(shown(found))
    assert "TTFT p95 < 4.00 s 26.0 s ! 9.00 s" in text
    assert "TTFT p95, later turns 2.20 s 8.00 s" in text
    assert (
        "No number of GPUs gets TTFT p95 under 26.0 s: 40.0 % of requests are cold first prompts of 205.0K "
        "tokens; later turns can reach 2.20 s." in text
    )
    assert "--anyway searches all the same" in text
    assert found.to_dict()["floor"]["unreachable"] == ["ttft_s.p95<4"]


def test_a_floor_that_is_within_the_limits_or_a_hint_stops_nothing() -> None:
    within = replace(sized([ALL[0]]), floor=floor(3.9))
    assert not within.in_vain
    assert "An idle worker keeps every limit on latencies" in " ".join(shown(within))
    hint = replace(sized([ALL[0]]), floor=floor(26.0, exact=False))
    assert not hint.in_vain
    assert "under about 26.0 s" in " ".join(shown(hint))


def test_requests_that_complete_on_no_number_of_gpus_stop_a_search() -> None:
    lossy = [alone(WARM_NAME, 1.0, 1.0, completed=9)]
    assert Floor(lossy, [], exact=True).stops([LIMIT])
    assert not Floor([*lossy, alone(WARM_NAME, 1.0, 1.0)], [], exact=True).stops([LIMIT])


@pytest.mark.parametrize(
    ("limit", "bounded"),
    [
        ("ttft_s.p95<3", True),
        ("itl_s.p99.9<3", True),
        ("by_tag.a.b.e2e_s.mean<3", True),
        ("95% of tpot_s<3", True),
        ("ttft_s.p95>3", False),
        ("gpu_hours<3", False),
        ("throughput.requests_per_s>1", False),
        ("router.queue_s.p95<1", False),
        ("late_s.p95<1", False),
    ],
)
def test_what_a_request_alone_does_best_is_a_latency(limit: str, bounded: bool) -> None:
    assert is_bounded(Limit.read(limit, "--slo")) is bounded


def test_the_table_has_a_row_for_each_cluster() -> None:
    rows = sized([]).table().to_pylist()
    assert [row["gpus"] for row in rows] == [4, 2, 6, 4, 4, 1]
    assert rows[3]["host_bytes"] == 192 * GIB
    assert (rows[0]["ttft_s.p95"], rows[0]["seeds"], rows[5]["errors"]) == (3.25, [0, 1], ["no room"])


def texts(panel: Axes) -> list[str]:
    return [text.get_text() for text in panel.texts]


def test_the_picture_joins_the_frontier_names_clusters_and_shows_limit_and_floor() -> None:
    found = replace(sized([ALL[3], ALL[2]]), floor=floor(1.5))
    (panel,) = plot_frontier(found).axes
    # Of those that lie on each other the smallest are named first; a cluster without numbers has no name.
    assert texts(panel)[:2] == ["3P1D", "6"]
    assert set(texts(panel)) == {"3P1D", "6", "2", "4", "1P3D"}
    frontier, limit, least = panel.get_lines()[-3:]
    assert list(frontier.get_xdata()) == pytest.approx([0.2, 0.4])
    assert list(frontier.get_ydata()) == pytest.approx([5.0, 2.4])
    assert set(limit.get_ydata()) == {4.0}
    assert set(least.get_ydata()) == {1.5}
    (kept,) = panel.patches
    assert (kept.get_y(), kept.get_y() + kept.get_height()) == (0.0, 4.0)
    assert panel.get_ylabel() == "TTFT p95 (s)"
    assert panel.get_title() == "TTFT p95 < 4.00 s"


def test_costs_that_span_a_decade_are_drawn_logarithmically() -> None:
    (linear,) = plot_frontier(sized([])).axes
    wide = replace(sized([]), tried=[*ALL, tried(Layout(30), 0, 1.0)])
    (panel,) = plot_frontier(wide).axes
    assert (linear.get_xscale(), panel.get_xscale()) == ("linear", "log")


def test_equal_searches_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_frontier(sized([]), tmp_path / name)
    first, second = ((tmp_path / name / "frontier.png").read_bytes() for name in ("a", "b"))
    assert first == second
