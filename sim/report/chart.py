"""Charts as inline SVG: drawn in the page's own colours, described in words, with their numbers as a table.

Colours and patterns are classes of the page's style sheet, so that a chart follows light, dark and print.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from sim.report.scales import Scale, Written

WIDTH = 380.0
"""Units of every drawing; a unit is about a pixel of a narrow screen."""
LEFT, RIGHT, TOP, BOTTOM = 52.0, 20.0, 10.0, 26.0


class DataTable(NamedTuple):
    """What a chart shows, to read."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    """Cells in words; the first of a row names it."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its name, what it shows in a sentence, and its numbers."""

    title: str
    says: str
    svg: str
    """Markup; every text in it is escaped."""
    table: DataTable | None = None


@dataclass(slots=True)
class Drawing:
    """An SVG while it is drawn. Places are in its units, from the top left."""

    key: str
    """Unique on its page, of letters, digits and dashes."""
    title: str
    says: str
    height: float
    root: Element = field(init=False)

    def __post_init__(self) -> None:
        names = {"title": f"{self.key}-title", "desc": f"{self.key}-desc"}
        self.root = Element(
            "svg",
            {
                "viewBox": f"0 0 {WIDTH:g} {self.height:g}",
                "role": "img",
                "aria-labelledby": " ".join(names.values()),
            },
        )
        SubElement(self.root, "title", id=names["title"]).text = self.title
        SubElement(self.root, "desc", id=names["desc"]).text = self.says

    def chart(self, table: DataTable | None = None) -> Chart:
        """Return what was drawn."""
        return Chart(self.title, self.says, tostring(self.root, encoding="unicode"), table)

    def rect(self, x: tuple[float, float], y: tuple[float, float], style: str, says: str) -> None:
        """Draw a bar from left to right and from top to bottom that says something when pointed at."""
        places = {"x": x[0], "y": y[0], "width": x[1] - x[0], "height": y[1] - y[0]}
        bar = SubElement(self.root, "rect", {**_places(places), "class": style})
        SubElement(bar, "title").text = says

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """Draw a straight line."""
        SubElement(self.root, "line", {**_places({"x1": x1, "y1": y1, "x2": x2, "y2": y2}), "class": style})

    def dot(self, x: float, y: float, says: str, link: str) -> None:
        """Draw a dot that says something when pointed at, and leads to a place of the page when clicked.

        The Tab key passes it by: what it stands for is in a table too.
        """
        anchor = SubElement(self.root, "a", {"href": link, "tabindex": "-1"})
        dot = SubElement(anchor, "circle", {**_places({"cx": x, "cy": y, "r": 4}), "class": "dot"})
        SubElement(dot, "title").text = says

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "middle") -> None:
        """Write a line of text."""
        attributes = {**_places({"x": x, "y": y}), "text-anchor": anchor}
        SubElement(self.root, "text", {**attributes, **({"class": style} if style else {})}).text = text

    def steps(
        self, x: float, y: float, changes: Iterable[tuple[float, float, float, float]], end: float, style: str
    ) -> None:
        """Draw a line from a place on that keeps its height until the next change, the last one to `end`.

        A change is where it comes, the places of the lowest and the highest value, and of what holds then.
        """
        path, height = f"M{_short(x)} {_short(y)}", y
        for place, lowest, highest, last in changes:
            heights = (highest, lowest, last)
            spike = [each for each in heights[:2] if not min(height, last) <= each <= max(height, last)]
            if spike or last != height:
                path += f"H{_short(place)}" + "".join(f"V{_short(each)}" for each in (*spike, last))
            height = last
        SubElement(self.root, "path", {"d": f"{path}H{_short(end)}", "class": style})

    def stairs(self, points: Sequence[tuple[float, float]], end: float, style: str) -> None:
        """Draw a line that keeps each point's height until the next point, the last one's to `end`."""
        self.steps(*points[0], [(x, y, y, y) for x, y in points[1:]], end, style)

    def x_axis(self, scale: Scale, written: Written, y: float) -> None:
        """Draw ticks below the height `y`."""
        self.line(scale.start, y, scale.end, y, "axis")
        for tick in scale.ticks():
            self.line(scale(tick), y, scale(tick), y + 4, "axis")
            self.text(scale(tick), y + 16, written(tick))

    def y_axis(self, scale: Scale, written: Written, most: int = 4) -> None:
        """Draw ticks on the left, and lines across."""
        for tick in scale.ticks(most):
            self.line(LEFT, scale(tick), WIDTH - RIGHT, scale(tick), "rule")
            self.text(LEFT - 6, scale(tick) + 4, written(tick), anchor="end")


def _places(places: dict[str, float]) -> dict[str, str]:
    return {name: _short(value) for name, value in places.items()}


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
