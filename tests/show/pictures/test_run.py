"""The pictures of a run."""

from collections.abc import Callable, Iterator

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.base.errors import InputError
from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn
from tests.results.runs import a_pair, two_turns


@pytest.fixture(scope="module")
def result() -> RunResult:
    return two_turns()


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        yield
        plt.close("all")


def points(ax: Axes, place: int = 0) -> list[list[float]]:
    return ax.collections[place].get_offsets().tolist()  # type: ignore[union-attr]


PICTURES: list[Callable[..., Axes]] = [
    lambda result, ax: result.plot.ecdf(ax=ax),
    lambda result, ax: result.plot.histogram(ax=ax),
    lambda result, ax: result.plot.recomputation(ax=ax),
    lambda result, ax: result.plot.session_map(ax=ax),
    lambda result, ax: result.plot.latencies(ax=ax),
    lambda result, ax: result.plot.over_time(ax=ax),
    lambda result, ax: result.plot.links(ax=ax),
]


@pytest.mark.parametrize("draw", PICTURES)
def test_each_draws_where_it_is_told_and_else_on_axes_of_its_own(
    result: RunResult, draw: Callable[..., Axes]
) -> None:
    given = Figure().add_subplot()
    assert draw(result, given) is given
    assert draw(result, None) is not given


def test_an_ecdf_has_a_line_for_each_latency(result: RunResult) -> None:
    ax = result.plot.ecdf("ttft_s", "itl_s")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["TTFT", "ITL"]
    ttft, itl = ([list(data) for data in line.get_data()] for line in ax.get_lines())
    assert ttft == [[float("-inf"), 1, 2], [0, 50, 100]]
    assert itl == [[float("-inf"), 1], [0, 100]]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "Time (s)")


def test_a_histogram_counts_requests(result: RunResult) -> None:
    ax = result.plot.histogram("e2e_s")
    assert sum(bar.get_height() for bar in ax.patches) == 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("E2E (s)", "Requests")
    assert sum(bar.get_height() for bar in result.plot.histogram("itl_s").patches) == 3


@pytest.mark.parametrize(("by", "tokens"), [("turn", [0, 64]), ("worker", [0, 64]), ("session", [64])])
def test_recomputation_is_stacked_by_cause(result: RunResult, by: str, tokens: list[int]) -> None:
    ax = result.plot.recomputation(by)  # type: ignore[arg-type]
    assert [bar.get_height() for bar in ax.patches] == tokens
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["on another worker"]


def test_the_map_of_a_session(result: RunResult) -> None:
    ax = result.plot.session_map("s")
    assert points(ax) == [[0, 0], [1, 1]]
    assert ax.collections[0].get_array().tolist() == [0, 80]  # type: ignore[union-attr]
    assert ax.get_title() == "Session s: prefill on 2 workers"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Turn", "Worker")


def test_the_map_of_a_pair_has_its_decode_workers() -> None:
    ax = a_pair().plot.session_map()
    assert [points(ax, 0), points(ax, 1)] == [[[0, 0]], [[0, 1]]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["prefill", "decode"]


def test_the_session_with_most_recomputed_tokens_is_shown_unless_another_is_named() -> None:
    requests = trace(turn(0, 64, 1, [1, 2, 3, 4], "a"), turn(9, 64, 1, [1, 2, 3, 4], "b"))
    found = run(scenario(), trace=requests, step_time=Pace(), policy=lambda terms, query, draw: query.request)
    assert found.plot.session_map().get_title().startswith("Session b")
    assert found.plot.session_map("a").get_title().startswith("Session a")
    with pytest.raises(
        InputError, match=r"session 'c': none that came to a worker is called so; there are a, b$"
    ):
        found.plot.session_map("c")


def test_latencies_over_the_time_of_sending(result: RunResult) -> None:
    assert points(result.plot.latencies("ttft_s")) == [[0, 1], [10, 2]]
    with pytest.raises(InputError, match="tpot_s is their mean"):
        result.plot.latencies("itl_s")


def test_levels_hold_until_the_next_row(result: RunResult) -> None:
    (image,) = result.plot.over_time("used_blocks").get_images()
    levels = image.get_array()
    assert levels is not None
    assert levels.shape == (2, 1000)  # of 14 s
    at = [round(time_s / 14 * 999) for time_s in (1, 5, 10.5, 13)]
    assert levels[:, at].tolist() == [[5, 0, 0, 0], [0, 0, 5, 6]]


def test_links_show_how_busy_they_were() -> None:
    ax = a_pair().plot.links()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    widths = dict(zip(labels, (bar.get_width() for bar in ax.patches), strict=True))
    assert widths["nvlink 0 out"] == pytest.approx(100 * 3072 / 1e9 / 3.250003072)


def test_a_run_of_which_nothing_came_has_empty_pictures_or_a_reason() -> None:
    rejected = run(scenario(), trace=trace(turn(0, 6400, 1, range(400))), step_time=Pace())
    assert [text.get_text() for text in rejected.plot.ecdf("ttft_s", "itl_s").texts] == ["not measured"]
    assert not rejected.plot.histogram().patches
    assert not rejected.plot.recomputation().patches
    with pytest.raises(InputError, match="there is no map: no request came to a worker"):
        rejected.plot.session_map()
    with pytest.raises(InputError, match="was never measured: no request came to a worker"):
        rejected.plot.over_time()


def test_unknown_names_are_refused_with_those_that_are_known(result: RunResult) -> None:
    with pytest.raises(InputError, match="latency 'ttft': there is no such; give ttft_s, itl_s"):
        result.plot.ecdf("ttft")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="latency 'ttft': there is no such; give ttft_s, itl_s"):
        result.plot.latencies("ttft")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="by 'user': there is no such; give turn, session, worker"):
        result.plot.recomputation("user")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="level 'gpu': there is no such"):
        result.plot.over_time("gpu")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="these workers have no CPU tier"):
        result.plot.over_time("cpu_used_blocks")
