"""Colours of the page: text stands out from what it is on, in light and dark."""

import re
from pathlib import Path

import pytest

from sim.report import page

CSS = (Path(page.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)


def luminance(colour: str) -> float:
    """Of a colour as #rrggbb: WCAG 2.2's relative luminance."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("colours", [LIGHT, LIGHT | DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_four_and_a_half_and_lines_of_three(colours: dict[str, str]) -> None:
    for ground in ("page", "card"):
        for text in ("text", "quiet", "link"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for line in ("bar", "second"):
            assert contrast(colours[line], colours[ground]) >= 3, (line, ground)
    for cell in ("hit", "recomputed", "new"):
        assert contrast(colours["on-cell"], colours[cell]) >= 4.5, cell


def test_dark_changes_every_colour_but_those_of_cells() -> None:
    assert LIGHT.keys() - DARK.keys() == {"hit", "recomputed", "new", "on-cell"}
