"""Names on points of which none lies on another one, on a point, or outside of the panel."""

from collections.abc import Sequence
from math import hypot, isfinite
from typing import TYPE_CHECKING

from sim.show.pictures.style import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

_FAR = 6
"""From a point to its name, in points."""
_PLACES = (
    ((1, 1), "left", "bottom"),
    ((1, -1), "left", "top"),
    ((-1, 1), "right", "bottom"),
    ((-1, -1), "right", "top"),
    ((0, 1.3), "center", "bottom"),
    ((0, -1.3), "center", "top"),
    ((1.4, 0), "left", "center"),
    ((-1.4, 0), "right", "center"),
)
"""Where a name may stand beside its point: in which direction, and how it is aligned there."""
_POINT_PIXELS = 4
_HALO_POINTS = 2.5
"""Around letters, so that lines do not run through them."""


def name_points(panel: "Axes", names: Sequence[tuple[str, tuple[float, float]]]) -> None:
    """Write names beside points in order, each where there is room and no other point is nearer.

    One without such a place is left out. The figure is laid out, and scales of axes are set.
    """
    from matplotlib.transforms import Bbox  # noqa: PLC0415 - slow to import

    known = list(dict.fromkeys((name, place) for name, place in names if all(map(isfinite, place))))
    points = [(float(x), float(y)) for x, y in (panel.transData.transform(place) for _, place in known)]
    size = _POINT_PIXELS
    marks = [Bbox.from_extents(x - size, y - size, x + size, y + size) for x, y in points]
    written: list[Bbox] = []
    for number, (name, place) in enumerate(known):
        others = [mark for at, mark in enumerate(marks) if at != number]
        box = _written(panel, name, place, [*others, *written], points)
        if box is not None:
            written.append(box)


def _written(
    panel: "Axes",
    name: str,
    place: tuple[float, float],
    taken: Sequence["Bbox"],
    points: Sequence[tuple[float, float]],
) -> "Bbox | None":
    """Write a name where it lies on none of these; return its box, None if there is no such place."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 - slow to import

    x, y = panel.transData.transform(place)
    own = float(x), float(y)
    inside = panel.bbox
    for (right, up), across, down in _PLACES:
        text = panel.annotate(
            name,
            place,
            xytext=(right * _FAR, up * _FAR),
            textcoords="offset points",
            ha=across,
            va=down,
            fontsize=SMALL,
            path_effects=[withStroke(linewidth=_HALO_POINTS, foreground=panel.get_facecolor())],
        )
        box = text.get_window_extent()
        fits = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
        nearest = min(points, key=lambda point: _distance(point, box))
        if fits and _distance(own, box) <= _distance(nearest, box) and not any(map(box.overlaps, taken)):
            return box
        text.remove()
    return None


def _distance(point: tuple[float, float], box: "Bbox") -> float:
    """Return how far a point is from the nearest of a box, in pixels."""
    x, y = point
    return hypot(max(box.x0 - x, 0.0, x - box.x1), max(box.y0 - y, 0.0, y - box.y1))
