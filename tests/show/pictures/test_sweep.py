"""The pictures of a sweep."""

from math import exp
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.runs.run import Run
from sim.runs.sweep import Sweep
from sim.show.pictures.sweep import plot_over, plots_of_sweep, write_sweep_plots


def made(ttft_s: float, seed: int = 0, **keys: tuple[float | str, str]) -> Run:
    """A run where keys of [router] and [workload] have a value, written so."""
    places = {
        "credit": "router.overlap_score_credit",
        "sessions": "workload.sessions",
        "policy": "router.policy",
    }
    settings: dict[str, dict[str, object]] = {"router": {}, "workload": {}}
    for key, (value, _) in keys.items():
        section, name = places[key].split(".")
        settings[section][name] = value
    written = {places[key]: text for key, (_, text) in keys.items()}
    return Run("agg8", settings, written, seed, {"ttft_s": {"p50": ttft_s}})


def credits_and_sessions() -> Sweep:
    return Sweep(
        "agg8",
        [
            made(
                10 * credit + sessions + seed,
                seed,
                credit=(credit, f"{credit:g}"),
                sessions=(sessions, str(sessions)),
            )
            for credit in (0.0, 0.5, 1.0)
            for sessions in (12, 20)
            for seed in (0, 1, 2)
        ],
    )


def plot_sweep(sweep: Sweep, metric: str) -> Figure:
    (figure,) = plots_of_sweep(sweep, metric)
    return figure


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def points(panel: Axes) -> list[list[tuple[float, float]]]:
    """The points of each line that has any."""
    lines = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in panel.get_lines()]
    return [line for line in lines if line]


def test_the_key_with_most_numbers_is_x_and_the_other_has_colours() -> None:
    figure = plot_sweep(credits_and_sessions(), "ttft_s.p50")
    (panel,) = figure.axes

    assert legend(figure) == ["12", "20"]
    assert figure.legends[0].get_title().get_text() == (
        "workload.sessions, means of 3 seeds with 95 % intervals"
    )
    assert panel.get_ylabel() == "TTFT p50 (s)"
    assert [text.get_text() for text in panel.get_xticklabels()] == ["0", "0.5", "1"]


def test_no_line_leads_to_credit_0_where_there_is_no_index() -> None:
    (panel,) = plot_sweep(credits_and_sessions(), "ttft_s.p50").axes
    drawn = points(panel)

    assert [(0.5, 18.0), (1.0, 23.0)] in drawn
    assert [(0.5, 26.0), (1.0, 31.0)] in drawn
    assert [(0.0, 13.0)] in drawn
    assert panel.get_xlabel() == "router.overlap_score_credit\n(at 0 no index is built)"


def test_a_band_is_the_interval_over_the_seeds() -> None:
    (panel,) = plot_sweep(credits_and_sessions(), "ttft_s.p50").axes
    band = panel.collections[0].get_paths()[0].vertices[:, 1]
    # At credit 0.5 and 12 sessions: 18, times and by exp(4.303 x 1 / sqrt(3) / 18).
    assert band.min() == pytest.approx(18 / exp(2.48414 / 18), abs=1e-4)


def test_names_give_bars() -> None:
    sweep = Sweep(
        "agg8", [made(value, policy=(name, name)) for name, value in (("kv", 1.5), ("random", 3.0))]
    )
    figure = plot_sweep(sweep, "ttft_s.p50")
    (panel,) = figure.axes

    assert [bar.get_height() for bar in panel.patches] == [1.5, 3.0]
    assert not figure.legends


def test_a_third_key_has_panels() -> None:
    runs = [
        made(
            1.0 + credit + sessions,
            credit=(credit, str(credit)),
            sessions=(sessions, str(sessions)),
            policy=(policy, policy),
        )
        for policy in ("kv", "random")
        for credit in (1, 2, 3)
        for sessions in (12, 20)
    ]
    figure = plot_sweep(Sweep("agg8", runs), "ttft_s.p50")
    assert [panel.get_title() for panel in figure.axes] == ["policy = kv", "policy = random"]


def test_sampled_keys_have_a_panel_each_without_lines() -> None:
    runs = [
        made(credit, credit=(credit, str(credit)), sessions=(sessions, str(sessions)), policy=("kv", "kv"))
        for credit, sessions in ((0.3, 4), (1.2, 9), (1.9, 6))
    ]
    figure = plot_sweep(
        Sweep("agg8", runs, ["router.overlap_score_credit", "workload.sessions"]), "ttft_s.p50"
    )

    assert [panel.get_xlabel() for panel in figure.axes] == [
        "router.overlap_score_credit",
        "workload.sessions",
    ]
    for panel in figure.axes:
        assert {line.get_linestyle() for line in panel.get_lines() if len(line.get_xdata())} == {"None"}


def test_a_number_that_was_not_measured_is_said() -> None:
    (panel,) = plot_sweep(credits_and_sessions(), "goodput.requests_per_s").axes
    assert [text.get_text() for text in panel.texts] == ["not measured"]


def test_draws_give_medians_with_bands() -> None:
    runs = [
        Run(
            "agg8",
            {"timing": {"draw": draw}, "workload": {"sessions": sessions}},
            {"workload.sessions": str(sessions), "timing.draw": str(draw)},
            0,
            {"ttft_s": {"p50": float(draw * sessions)}},
            draw=draw,
        )
        for draw in (1, 2, 6)
        for sessions in (10, 20)
    ]
    figure = plot_sweep(Sweep("agg8", runs), "ttft_s.p50")
    (panel,) = figure.axes

    assert points(panel) == [[(10, 20.0), (20, 40.0)]]
    # The 2.5th percentile of 10, 20, 60 is a twentieth of the way from 10 to 20, the 97.5th so from 60 to 20.
    ends = {tuple(place) for place in panel.collections[0].get_paths()[0].vertices}
    assert {(10.0, 10.5), (10.0, 58.0), (20.0, 21.0), (20.0, 116.0)} <= ends
    assert figure.get_suptitle().splitlines() == [
        "medians of 3 draws of the coefficients, seed 0, with 95 % bands of the",
        "draws",
    ]


def test_nothing_swept_is_one_bar() -> None:
    (panel,) = plot_sweep(Sweep("agg8", [made(2.0)]), "ttft_s.p50").axes
    assert [bar.get_height() for bar in panel.patches] == [2.0]


def test_pictures_of_an_earlier_sweep_do_not_stay_beside_others(tmp_path: Path) -> None:
    for name in ("ttft_s.p50.png", "mine.png"):
        (tmp_path / name).touch()
    write_sweep_plots(credits_and_sessions(), [], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.png"]


def test_equal_sweeps_give_equal_files(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_sweep_plots(credits_and_sessions(), ["ttft_s.p50"], tmp_path / name)
        written.append((tmp_path / name / "ttft_s.p50.png").read_bytes())
    assert written[0] == written[1]


# On one pair of axes


def test_all_other_keys_have_colours_on_one_pair_of_axes() -> None:
    ax = Figure().add_subplot()
    assert plot_over(credits_and_sessions(), "ttft_s.p50", "workload.sessions", ax) is ax
    assert ax.get_xlabel() == "workload.sessions"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "0.5", "1"]
    title = ax.get_legend().get_title().get_text()
    assert title == "router.overlap_score_credit, means of 3 seeds with 95 % intervals"
    assert points(ax)[0] == [(12.0, 13.0), (20.0, 21.0)]


def test_the_key_with_most_numbers_is_the_axis_unless_another_is_named() -> None:
    ax = plot_over(credits_and_sessions(), "ttft_s.p50", None, Figure().add_subplot())
    assert ax.get_xlabel() == "router.overlap_score_credit\n(at 0 no index is built)"
