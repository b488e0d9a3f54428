"""What a search for cluster sizes found, worked out by hand."""

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from rich.console import Console

from sim.base.limits import Limit
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
    assert lines[3:6] == [
        "4 3P1D 64 GiB 192 GiB 40.0 % 2.20 s 25.0 % 0.400",
        "4 aggregated 64 GiB 256 GiB 12.5 % 3.25 s 25.0 % 0.400",
        "6 aggregated none none 12.5 % 3.00 s 25.0 % 0.600",
    ]
    assert lines[8:11] == ["aggregated none 6 1", "aggregated 64 GiB 4 2", "disaggregated 64 GiB 3P1D 1P3D"]
    assert "· 3 clusters did not hold with seed 0, and were not run with the others" in lines
    assert "· failed: no room" in lines
    assert "· a note" in lines


def test_a_person_is_told_that_none_holds_and_which_come_nearest() -> None:
    lines = shown(sized([]))
    assert "· none of these clusters holds; above are those that come nearest" in lines
    assert lines[3].startswith("4 3P1D")


def test_the_table_has_a_row_for_each_cluster() -> None:
    rows = sized([]).table().to_pylist()
    assert [row["gpus"] for row in rows] == [4, 2, 6, 4, 4, 1]
    assert rows[3]["host_bytes"] == 192 * GIB
    assert (rows[0]["ttft_s.p95"], rows[0]["seeds"], rows[5]["errors"]) == (3.25, [0, 1], ["no room"])


def texts(panel: Axes) -> list[str]:
    return [text.get_text() for text in panel.texts]


def test_the_picture_joins_the_frontier_names_the_smallest_and_shows_the_limit() -> None:
    (panel,) = plot_frontier(sized([ALL[3], ALL[2]])).axes
    assert texts(panel) == ["3P1D", "6"]
    *_, frontier, limit = panel.get_lines()
    assert list(frontier.get_xdata()) == pytest.approx([0.2, 0.4])
    assert list(frontier.get_ydata()) == pytest.approx([5.0, 2.2])
    assert set(limit.get_ydata()) == {4.0}
    assert panel.get_ylabel() == "TTFT p95 (s), limit dashed"


def test_equal_searches_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_frontier(sized([]), tmp_path / name)
    first, second = ((tmp_path / name / "frontier.png").read_bytes() for name in ("a", "b"))
    assert first == second
