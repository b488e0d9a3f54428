"""What a person reads of a calibration to requests, made for a terminal of 100 columns."""

from collections.abc import Iterable

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from sim.calibration.requests import Calibration
from sim.calibration.requests_file import INTERVAL, quantity
from sim.results.summary import footnotes, table
from sim.validation.requests import show as accuracy


def render(found: Calibration, scenario: str, out: str) -> RenderableType:
    """Return the coefficients, how well fitted runs predict each other, and the accuracy on every run."""
    parts: list[RenderableType] = [_coefficients(found), Text()]
    if found.cross_validation:
        parts += [_cross_validation(found), Text()]
    parts.append(accuracy.render(found.accuracy, scenario))
    ends = ", ".join(f"{cost:.4g}" for cost in found.fit.costs)
    parts.append(footnotes([f"cost of the fit from each start: {ends}", f"written to {out}"]))
    return Group(*parts)


def _coefficients(found: Calibration) -> RenderableType:
    rows = table("Coefficient", "start", "fitted", "95 % of draws")
    for name, value in found.fit.values.items():
        rows.add_row(name, _text(name, found.start[name]), _text(name, value), _interval(found, name))
    for name, value in found.held.items():
        rows.add_row(name, _text(name, value), "held", _interval(found, name), style="dim")
    return rows


def _interval(found: Calibration, name: str) -> str:
    if name not in found.draws:
        return "-"
    return " to ".join(
        str(quantity(name, end)) for end in np.percentile(found.draws[name], INTERVAL).tolist()
    )


def _text(name: str, value: float) -> str:
    return str(quantity(name, value))


def _cross_validation(found: Calibration) -> RenderableType:
    rows = table("Fitted to the other runs", "off by, in tolerances")
    lines: Iterable[tuple[str, float]] = found.cross_validation.items()
    for name, error in lines:
        rows.add_row(name, f"{error:.2f}")
    rows.add_row(
        "root mean square", f"{np.sqrt(np.mean(np.square(list(found.cross_validation.values())))):.2f}"
    )
    return rows
