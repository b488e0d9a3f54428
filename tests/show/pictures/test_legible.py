"""Every picture of every command can be read: no label on another, none beyond the edge, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.typing import ColorType

from sim.base.errors import InputError
from sim.show.pictures.style import THEME, theme
from tests.show.pictures.drawn import CROWDED, PICTURES
from tests.show.pictures.legible import assert_legible, problems

SIM = Path(__file__).parents[3] / "sim"
SHARED = {"show/pictures/pages.py", "show/pictures/panels.py"}
"""Are of several."""


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


@pytest.mark.parametrize("drawn_by", PICTURES)
def test_every_label_of_every_picture_can_be_read(drawn_by: str) -> None:
    for figure in PICTURES[drawn_by]():
        assert_legible(figure)
        plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("drawn_by", CROWDED)
def test_every_label_of_crowded_pictures_can_be_read(drawn_by: str) -> None:
    for figure in CROWDED[drawn_by]():
        assert_legible(figure)
        plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("drawn_by", PICTURES)
def test_every_label_can_be_read_in_files_with_twice_the_pixels(drawn_by: str) -> None:
    for figure in PICTURES[drawn_by]():
        assert_legible(figure, dpi=200)
        plt.close(figure)


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
    assert len(problems(figure, 200)) == 3
    assert problems(figure) == [
        "at 100 dpi: 'a long text that leaves' leaves the figure",
        "at 100 dpi: 'small' has 5 points",
        "at 100 dpi: 'one' lies on 'another'",
    ]


def test_a_theme_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THEME, "darc")
    with pytest.raises(InputError, match="SIM_THEME = darc: is no theme; did you mean 'dark'"):
        theme()
