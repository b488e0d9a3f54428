"""What a person reads of a calibration to requests, made for a terminal of 100 columns."""

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from sim.calibration.requests import Calibration
from sim.calibration.requests_file import INTERVAL
from sim.hardware.coefficient_file import CoefficientFile
from sim.hardware.coefficient_toml import shown
from sim.show.text.page_parts import footnotes, table
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
        rows.add_row(name, shown(name, found.start[name]), shown(name, value), _interval(found, name))
    for name, value in found.held.items():
        rows.add_row(name, shown(name, value), "held", _interval(found, name), style="dim")
    return rows


def _interval(found: Calibration, name: str) -> str:
    if name not in found.draws:
        return "-"
    return " to ".join(shown(name, end) for end in np.percentile(found.draws[name], INTERVAL).tolist())


def _cross_validation(found: Calibration) -> RenderableType:
    rows = table("Fitted to the other runs", "off by, in tolerances")
    for name, error in found.cross_validation.items():
        rows.add_row(name, f"{error:.2f}")
    whole = np.sqrt(np.mean(np.square(list(found.cross_validation.values()))))
    rows.add_row("root mean square", f"{whole:.2f}")
    return rows


def head_lines(content: CoefficientFile) -> list[str]:
    """Return the comment on top of the file."""
    return [
        f"Step-time coefficients of {content.model} on {content.gpu}: {content.summary}.",
        "Made by `sim calibrate requests`; README.md says how, and what each coefficient multiplies.",
        "Range of a fitted one: where 95 % of the draws lie, a bootstrap over the fitted runs.",
    ]
