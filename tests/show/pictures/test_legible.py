"""Every picture of every command can be read: no label on another, none beyond the edge, light and dark."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.typing import ColorType

from sim.base.errors import InputError
from sim.published import plots as sensitivity
from sim.published import quantity_plots
from sim.published.variants import Scored, Variant
from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.runs.sweep import Sweep
from sim.show.pictures.comparison import PLOTTED, plots
from sim.show.pictures.inspection import PLOTS
from sim.show.pictures.ratios import Ratio, plots_of_ratios
from sim.show.pictures.sizing import plot_frontier
from sim.show.pictures.style import THEME, style, theme
from sim.show.pictures.sweep import plots_of_sweep
from sim.simulation.result import RunResult
from sim.simulation.run import run
from sim.traces.inspection import inspect
from sim.workload.request import Trace
from tests.clusters import Pace, scenario, trace, turn
from tests.published.test_sensitivity import at
from tests.published.test_verdicts import CLUSTER, scored
from tests.results.runs import a_pair
from tests.runs.comparisons import drawn, made, swept
from tests.runs.test_sizing import ALL, sized
from tests.show.pictures.legible import assert_legible, problems
from tests.show.pictures.test_sweep import made as point

SIM = Path(__file__).parents[3] / "sim"


@cache
def sessions() -> Trace:
    """Two dozen sessions of two turns, names as transcripts have them."""
    turns = [
        turn(
            3.0 * number + 30.0 * again,
            64 * (again + 1),
            2,
            range(100 * number, 100 * number + 4 * (again + 1)),
            f"session-{number:02}-of-somebody",
        )
        for again in range(2)
        for number in range(24)
    ]
    return trace(*turns)


@cache
def many_turns() -> RunResult:
    """Them on four workers, each turn on another one."""
    return run(
        scenario(workers={"count": 4}),
        trace=sessions(),
        step_time=Pace(),
        policy=lambda terms, query, draw: query.request % 4,
    )


def of_a_run() -> Iterator[Figure]:
    """All pictures of a run."""
    for result in (many_turns(), a_pair()):
        draw = result.plot
        for ax in (
            draw.ecdf(),
            draw.ecdf("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"),
            draw.histogram(),
            *(draw.recomputation(by) for by in ("turn", "session", "worker")),
            draw.session_map(),
            draw.latencies(),
            draw.over_time(),
            draw.over_time("used_blocks"),
            draw.links(),
        ):
            figure = ax.get_figure(root=True)
            assert figure is not None
            yield figure


def compared() -> Iterator[Figure]:
    """Bars and lines, few and many, names of any length, several pages."""
    names = [f"{'a-scenario-with-a-long-name-' * (number % 3)}{number}" for number in range(9)]
    yield from plots(Comparison(names, [made(name, 1.0 + i) for i, name in enumerate(names)]), PLOTTED)
    runs = [
        one
        for i, name in enumerate(names[:3])
        for one in swept(name, {n: [1.0 + i * n] for n in (1, 2, 4, 300)})
    ]
    yield from plots(Comparison(names[:3], runs), PLOTTED)
    yield from plots(drawn(), ["ttft_s.p50"])
    yield from plots(
        Comparison(["a"], [facet(sessions, turns) for sessions in range(14) for turns in (1, 2, 3)]),
        PLOTTED[:2],
    )


def facet(sessions: int, turns: int) -> Run:
    """A run of a grid of two keys."""
    return made(
        "a",
        1.0 + sessions * 10.0**turns,
        workload={"sessions": sessions, "turns": turns},
        written={"workload.sessions": str(sessions), "workload.turns": str(turns)},
    )


def swept_over() -> Iterator[Figure]:
    """A grid of two keys, names, values over decades, keys that were sampled."""
    grid = [
        point(10.0**credit + sessions, credit=(credit, f"{credit:g}"), sessions=(sessions, str(sessions)))
        for credit in (0.0, 0.1, 0.2, 0.25, 0.3, 1.0, 2.0, 4.0)
        for sessions in range(1, 15)
    ]
    yield from plots_of_sweep(Sweep("agg8", grid), "ttft_s.p50")
    policies = ["round-robin", "kv", "random", "least-loaded", "power-of-two", "device-aware-weighted"]
    runs = [point(1.0 + i, policy=(name, name)) for i, name in enumerate(policies)]
    yield from plots_of_sweep(Sweep("agg8", runs), "ttft_s.p50")
    keys = ["router.overlap_score_credit", "workload.sessions"]
    yield from plots_of_sweep(Sweep("agg8", grid, keys), "ttft_s.p50")
    yield from plots_of_sweep(Sweep("agg8", grid), "goodput.requests_per_s")


def inspected() -> Iterator[Figure]:
    """Traces with much in them and with little."""
    for requests in (sessions(), trace(turn(0.0, 64, 2, (1, 2, 3, 4)))):
        found = inspect(
            replace(requests, source="traces/a-folder-with-a-long-name/and-a-file-with-one.jsonl")
        )
        yield from (draw(found) for draw in PLOTS.values())


def of_published() -> Iterator[Figure]:
    """Quantities over a level and without one; few variants and many with long names."""
    rows = scored()
    for quantity in quantity_plots.quantities(rows):
        with style():
            yield quantity_plots.draw(CLUSTER.settings, quantity)


def of_sensitivity() -> Iterator[Figure]:
    """Many variants of a few rows."""
    variants = [Variant(f"an assumption with a long name {number}") for number in range(24)]
    yield sensitivity.draw([Scored(one, (at(8.0 * i), at(1.5))) for i, one in enumerate(variants, 1)])


def of_ratios() -> Iterator[Figure]:
    """Many runs with long names, near each other and decades apart."""
    names = [f"a run of engine {number} at a rate of so many requests a second" for number in range(26)]
    ratios = [
        Ratio(name, series, 1.0 + i / 10, 0.9, 1.2 + i)
        for i, name in enumerate(names)
        for series in ("TTFT p50", "TTFT p99", "E2E p50", "of all requests")
    ]
    yield from plots_of_ratios(ratios, "a file with a name, validated on a scenario with a long name as well")
    yield from plots_of_ratios(
        [Ratio("ITL p99", "all simulated", 100.0), Ratio("ITL p50", "LRU", 1.0)], "one"
    )


def of_sizes() -> Iterator[Figure]:
    """The frontier."""
    yield plot_frontier(sized(ALL[:2]))


PICTURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "show/pictures/run.py": of_a_run,
    "show/pictures/comparison.py": compared,
    "show/pictures/sweep.py": swept_over,
    "show/pictures/inspection.py": inspected,
    "show/pictures/sizing.py": of_sizes,
    "published/quantity_plots.py": of_published,
    "published/plots.py": of_sensitivity,
    "show/pictures/ratios.py": of_ratios,
}
"""Makes the pictures of each module that draws any."""
SHARED = {"show/pictures/pages.py", "show/pictures/panels.py"}
"""Are of several."""


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        yield
        plt.close("all")


@pytest.mark.parametrize("drawn_by", PICTURES)
def test_every_label_of_every_picture_can_be_read(drawn_by: str) -> None:
    for figure in PICTURES[drawn_by]():
        assert_legible(figure)


@pytest.mark.parametrize("drawn_by", PICTURES)
def test_on_dark_ground_no_text_is_dark(drawn_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least the contrast that WCAG 2 asks for."""
    monkeypatch.setenv(THEME, "dark")
    figure = next(PICTURES[drawn_by]())
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            assert contrast(text.get_color(), figure.get_facecolor()) > 4.5, text.get_text()


def contrast(one: ColorType, other: ColorType) -> float:
    """The ratio of relative luminances of WCAG 2."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: ColorType) -> float:
    """Of WCAG 2, from 0 to 1."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))


def test_every_module_that_draws_has_its_pictures_looked_at() -> None:
    """One that makes figures or writes them stands in `PICTURES`: a new one has to be put there."""
    drawing = re.compile(r"figure import Figure  #|\bon_axes\(|\bpages_of\(|\bplt\.")
    style_itself = {"show/pictures/style.py"}
    found = {
        path.relative_to(SIM).as_posix()
        for path in SIM.rglob("*.py")
        if drawing.search(path.read_text(encoding="utf-8"))
    }
    assert found - SHARED - style_itself == set(PICTURES)


def test_what_cannot_be_read_is_found() -> None:
    figure = Figure(figsize=(3, 2))
    figure.text(0.5, 0.5, "one")
    figure.text(0.52, 0.5, "another")
    figure.text(0.9, 0.1, "a long text that leaves")
    figure.text(0.1, 0.9, "small", fontsize=5)
    figure.text(0.1, 0.2, "turned", rotation=45)
    figure.text(0.2, 0.2, "turned", rotation=45)
    found = problems(figure)
    assert len(found) == 6
    assert found[:3] == [
        "at 100 dpi: 'a long text that leaves' leaves the figure",
        "at 100 dpi: 'small' has 5 points",
        "at 100 dpi: 'one' lies on 'another'",
    ]


def test_a_theme_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THEME, "darc")
    with pytest.raises(InputError, match="SIM_THEME = darc: is no theme; did you mean 'dark'"):
        theme()
