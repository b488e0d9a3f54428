"""The pictures of a comparison."""

from collections.abc import Sequence
from math import exp
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.show.pictures.comparison import PLOTTED, plot_metric, plots, write_plot
from tests.runs.comparisons import drawn, made, swept, two_points


def at(scenario: str, ttft_s: float, seed: int = 0, **keys: tuple[object, str]) -> Run:
    """A run where keys of [workload] have a value, written so."""
    workload = {key: value for key, (value, _) in keys.items()}
    written = {f"workload.{key}": text for key, (_, text) in keys.items()}
    return made(scenario, ttft_s, seed, workload=workload, written=written)


def plot(comparison: Comparison, metrics: Sequence[str]) -> Figure:
    (figure,) = plots(comparison, metrics)
    return figure


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def points(panel: Axes, line: int) -> list[tuple[float, float]]:
    drawn = panel.get_lines()[line]
    return list(zip(drawn.get_xdata(), drawn.get_ydata(), strict=True))


def ticks(panel: Axes) -> list[str]:
    return [text.get_text() for text in panel.get_xticklabels()]


def test_a_swept_number_gives_a_line_a_scenario_and_a_band() -> None:
    figure = plot(two_points(), ["ttft_s.p50", "prefill.recomputation"])
    ttft, recomputation = figure.axes

    assert legend(figure) == ["fast", "slow"]
    assert figure.legends[0].get_title().get_text() == "means of 3 seeds with 95 % intervals"
    assert points(ttft, 0) == [(12, 2.0), (20, 2.0)]
    assert points(ttft, 1) == [(12, 4.0), (20, 3.0)]
    assert points(recomputation, 1) == [(12, pytest.approx(40)), (20, pytest.approx(30))]
    assert (ttft.get_ylabel(), ttft.get_xlabel()) == ("TTFT p50 (s)", "workload.sessions")
    assert recomputation.get_ylabel() == "Recomputation (%)"
    assert ticks(ttft) == ["12", "20"]
    # The band of slow at 12 is 4, times and by exp(4.303 x 2 / sqrt(3) / 4).
    band = ttft.collections[1].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(4 / exp(4.968275 / 4), abs=1e-5)
    assert band.max() == pytest.approx(4 * exp(4.968275 / 4), abs=1e-5)
    assert ttft.get_ylim()[0] == 0


def test_draws_give_bands_around_the_median() -> None:
    figure = plot(drawn(), ["ttft_s.p50"])
    panel = figure.axes[0]

    says = "medians of 41 draws of the coefficients, seed 0, with 95 % bands of\nthe draws"
    assert figure.get_suptitle() == says
    assert [bar.get_width() for bar in panel.patches] == pytest.approx([3.0, 6.0])
    ends = [sorted(line.get_xdata()) for line in panel.get_lines()]
    assert ends == [pytest.approx([1.1, 4.9]), pytest.approx([2.2, 9.8])]


def test_short_times_are_in_milliseconds() -> None:
    panel = plot(Comparison(["a"], swept("a", {1: [0.02], 2: [0.5]})), ["ttft_s.p50"]).axes[0]

    assert panel.get_ylabel() == "TTFT p50 (ms)"
    assert points(panel, 0) == [(1, 20.0), (2, 500.0)]
    assert panel.get_yscale() == "linear"


def test_times_of_different_magnitude_are_on_a_logarithmic_axis() -> None:
    panel = plot(Comparison(["a"], swept("a", {1: [0.5], 2: [135.0]})), ["ttft_s.p50"]).axes[0]

    assert panel.get_yscale() == "log"


def test_two_seeds_have_no_band() -> None:
    figure = plot(Comparison(["a"], swept("a", {1: [1.0, 2.0], 2: [3.0, 4.0]})), ["ttft_s.p50"])

    assert figure.legends[0].get_title().get_text() == "means of 2 seeds"
    for band in figure.axes[0].collections:
        assert not [path for path in band.get_paths() if len(path.vertices) and path.get_extents().height > 0]


def test_values_are_labelled_as_they_were_written() -> None:
    runs = [at("a", 1.0, bytes=(2**36, "64GiB")), at("a", 2.0, bytes=(2**37, "128GiB"))]

    assert ticks(plot(Comparison(["a"], runs), ["ttft_s.p50"]).axes[0]) == ["64GiB", "128GiB"]


def test_swept_names_give_groups_of_bars() -> None:
    runs = [
        at(name, ttft_s, policy=(policy, policy))
        for name, latencies in (("a", (1.0, 2.0)), ("b", (3.0, 4.0)))
        for policy, ttft_s in zip(("kv", "random"), latencies, strict=True)
    ]
    figure = plot(Comparison(["a", "b"], runs), ["ttft_s.p50"])
    panel = figure.axes[0]

    assert legend(figure) == ["a", "b"]
    assert ticks(panel) == ["kv", "random"]
    assert [[bar.get_height() for bar in bars] for bars in panel.containers] == [[1.0, 2.0], [3.0, 4.0]]
    assert panel.get_xlabel() == "workload.policy"


def test_nothing_swept_gives_a_bar_a_scenario() -> None:
    figure = plot(
        Comparison(["a", "b"], [made("a", 2.0), made("b", 3.0)]), ["ttft_s.p50", "requests.completed"]
    )
    panel = figure.axes[0]

    assert [bar.get_width() for bars in panel.containers for bar in bars] == [2.0, 3.0]
    assert [text.get_text() for text in panel.get_yticklabels()] == ["a", "b"]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("TTFT p50 (s)", "")
    assert not figure.legends
    assert figure.get_suptitle() == "seed 0"


def test_further_swept_keys_have_columns_of_panels() -> None:
    runs = [
        at("a", sessions + credit, sessions=(sessions, str(sessions)), credit=(credit, str(credit)))
        for sessions in (1, 2, 3)
        for credit in (0, 10)
    ]
    figure = plot(Comparison(["a"], runs), ["ttft_s.p50", "prefill.recomputation"])

    assert [panel.get_title() for panel in figure.axes] == ["credit = 0", "credit = 10", "", ""]
    assert points(figure.axes[1], 0) == [(1, 11.0), (2, 12.0), (3, 13.0)]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert figure.axes[0].get_ylim()[1] >= 13
    assert [panel.get_xlabel() for panel in figure.axes] == ["", "", "workload.sessions", "workload.sessions"]


def test_what_was_not_measured_is_said() -> None:
    figure = plot(two_points(), ["goodput.share", "ttft_s.p50"])

    assert [text.get_text() for text in figure.axes[0].texts] == ["not measured"]
    assert legend(figure) == ["fast", "slow"]


def test_a_scenario_without_a_number_does_not_take_the_colour_of_another() -> None:
    runs = [*swept("a", {1: [1.0], 2: [1.0]}), *swept("b", {1: [3.0], 2: [3.0]})]
    runs[0].summary["extra"] = runs[1].summary["extra"] = None
    runs[2].summary["extra"] = runs[3].summary["extra"] = 5.0
    first, second = plot(Comparison(["a", "b"], runs), ["ttft_s.p50", "extra"]).axes

    drawn = [line for line in second.get_lines() if len(line.get_xdata())]
    assert [line.get_color() for line in drawn] == [first.get_lines()[1].get_color()]


def test_twelve_scenarios_in_six_panels_of_the_default_numbers() -> None:
    names = [f"s{n}" for n in range(12)]
    runs = [run for name in names for run in swept(name, {1: [1.0], 2: [2.0]})]
    figure = plot(Comparison(names, runs), PLOTTED)

    assert len(figure.axes) == 6
    assert legend(figure) == names


def test_equal_comparisons_give_equal_pictures(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_plot(two_points(), ["ttft_s.p50"], tmp_path / name)
    for file, start in (("comparison.png", b"\x89PNG"), ("comparison.svg", b"<?xml")):
        content = (tmp_path / "first" / file).read_bytes()
        assert content.startswith(start)
        assert content == (tmp_path / "second" / file).read_bytes()


# One number on one pair of axes


def test_one_number_is_drawn_where_it_is_told() -> None:
    ax = Figure().add_subplot()
    assert plot_metric(two_points(), "ttft_s.p50", ax) is ax
    assert [points(ax, line) for line in (0, 1)] == [[(12, 2.0), (20, 2.0)], [(12, 4.0), (20, 3.0)]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fast", "slow"]
    assert ax.get_legend().get_title().get_text() == "means of 3 seeds with 95 % intervals"


def test_further_swept_keys_are_further_colours() -> None:
    runs = [
        at(name, sessions + credit, sessions=(sessions, str(sessions)), credit=(credit, str(credit)))
        for name in ("a", "b")
        for sessions in (1, 2, 3)
        for credit in (0, 10)
    ]
    ax = plot_metric(Comparison(["a", "b"], runs), "ttft_s.p50", Figure().add_subplot())

    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "a, credit = 0",
        "a, credit = 10",
        "b, credit = 0",
        "b, credit = 10",
    ]
    assert points(ax, 1) == [(1, 11.0), (2, 12.0), (3, 13.0)]


def test_bars_say_what_they_are_of() -> None:
    sides = Comparison(["a", "b"], [made("a", 2.0), made("b", 3.0)])
    ax = plot_metric(sides, "ttft_s.p50", Figure().add_subplot())
    assert [bar.get_width() for bars in ax.containers for bar in bars] == [2.0, 3.0]
    assert ax.get_title() == "seed 0"
