"""Names are text in pictures."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.show.pictures.comparison import plots, write_plot
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.style import style

ODD = [
    "a$b_",
    "c$d_$",
    "_lead",
    "x^2",
    "back\\slash",
    "50%",
    "[red]x[/red]",
    "ü漢😀",
    "a\nb\0",
    "\udcff",
    "{x}",
    "",
]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("agg8", "agg8"),
        ("a$b$", r"a\$b\$"),
        ("_x", "\u200b_x"),
        ("a\tb", r"a\tb"),
        ("\ud800", r"\ud800"),
        ("x" * 39 + "y" * 50 + "z" * 20, "x" * 39 + "…" + "z" * 20),
    ],
)
def test_a_label_is_what_matplotlib_draws_as_the_name(text: str, label: str) -> None:
    assert as_label(text) == label


@given(st.lists(st.text(st.characters(), max_size=80), max_size=6))
def test_different_names_have_different_labels(texts: list[str]) -> None:
    labels = as_labels(texts)
    assert set(labels) == set(texts)
    assert len(set(labels.values())) == len(labels)


def test_long_names_that_differ_in_the_middle_are_told_apart() -> None:
    assert [*as_labels(["x" * 50 + c + "x" * 50 for c in "ab"]).values()] == [
        "x" * 39 + "…" + "x" * 20,
        "x" * 39 + "…" + "x" * 20 + " (2)",
    ]


@settings(deadline=None)  # the first one loads fonts
@given(st.text(st.characters(), max_size=80))
def test_every_name_can_be_drawn(text: str) -> None:
    with style():
        figure = Figure()
        figure.text(0, 0, as_label(text))
        figure.canvas.draw()


def runs(names: Sequence[str], values: Sequence[str]) -> Comparison:
    summary = {"ttft_s": {"p50": 1.0}}
    return Comparison(
        list(names),
        [Run(name, {"title": value}, {"title": value}, 0, summary) for name in names for value in values],
    )


@pytest.mark.parametrize(("names", "values"), [(ODD, ["one"]), (["agg8", "$"], ODD)])
def test_a_comparison_of_odd_names_is_drawn(tmp_path: Path, names: list[str], values: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_plot(runs(names, values), ["ttft_s.p50"], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.png", "comparison.svg"]


def test_a_legend_has_names_that_begin_with_an_underscore() -> None:
    (legend,) = plots(runs(["_a", "b"], ["x", "y"]), ["ttft_s.p50"])[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["\u200b_a", "b"]
