"""The picture of a search for settings: the number over the trials, and over each setting."""

from math import ceil, isfinite
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.results.quantities import Unit, label, unit
from sim.runs.tuning import DEFAULT, Trial, Tuned
from sim.show.pictures.axes import axis_unit, set_scale
from sim.show.pictures.fitting import fit_legend, fit_ticks, height_inches
from sim.show.pictures.labels import as_label, broken
from sim.show.pictures.style import CHARACTERS_AN_INCH, PANEL_INCHES, SMALL_INCHES, palette, quiet, style
from sim.show.pictures.ticks import logarithmic, number, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE = 3
"""Panels in a row."""
_DECADE = 10
_LINE_CHARACTERS = 32
"""Of a key below its panel."""
_HOLDS: dict[str, Any] = {"s": 28, "zorder": 3}
_FAINT: dict[str, Any] = {"s": 28, "alpha": 0.4, "zorder": 2, "marker": "x"}
_BEST: dict[str, Any] = {"s": 130, "marker": "*", "zorder": 4}
_DEFAULT: dict[str, Any] = {"linestyle": "--", "linewidth": 1, "zorder": 1}


def write_trials(tuned: Tuned, folder: Path) -> None:
    """Write trials.png."""
    with style(), whole_file(folder / "trials.png") as file:
        plot_trials(tuned).savefig(file, metadata={"Software": None})


def plot_trials(tuned: Tuned) -> "Figure":
    """Return the figure: the goal's number over the trials with the best so far, then over each setting.

    Settings that break a limit, or lose requests, are faint crosses; the default is a dashed line, across
    for its number and upright for its value of a setting.
    """
    with style():
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

        keys = list(tuned.best.written)
        count = 1 + len(keys)
        columns = min(count, _BESIDE)
        rows = ceil(count / columns)
        width, height = PANEL_INCHES if columns < _BESIDE else SMALL_INCHES
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        shown = _axis(tuned)
        _over_trials(panels[0], tuned, shown)
        for panel, key in zip(panels[1:], keys, strict=False):
            _over_setting(panel, tuned, key, shown)
        for place, panel in enumerate(panels):
            panel.set_visible(place < count)
            if place % columns:
                panel.set_ylabel("")
        aim = "highest" if tuned.goal.maximise else "lowest"
        title = f"{as_label(tuned.scenario)}: {aim} {label(tuned.goal.metric)}"
        above = fit_legend(
            figure,
            *panels[0].get_legend_handles_labels(),
            title=fill(title, int(CHARACTERS_AN_INCH * width * columns)),
            most_columns=5,
        )
        figure.set_figheight(figure.get_figheight() + height_inches(figure, above))
        fit_ticks(figure)
        return figure


def _over_trials(panel: "Axes", tuned: Tuned, shown: Unit) -> None:
    numbered = list(enumerate(tuned.trials, start=1))
    _scatter(panel, [*numbered], tuned, shown)
    steps = [value / shown.per_axis_unit if value is not None else None for value in tuned.best_so_far]
    known = [(number, value) for (number, _), value in zip(numbered, steps, strict=True) if value is not None]
    if known:
        panel.step(*zip(*known, strict=True), where="post", color=quiet(), linewidth=1, label="best so far")
    whole(panel.xaxis)
    _finish(panel, tuned, shown, "trial")


def _over_setting(panel: "Axes", tuned: Tuned, key: str, shown: Unit) -> None:
    found = [(float(trial.written[key]), trial) for trial in tuned.trials if key in trial.written]
    _scatter(panel, found, tuned, shown)
    values = [value for value, _ in found]
    if values and 0 < min(values) * _DECADE < max(values):
        logarithmic(panel.xaxis)
    else:
        number(panel.xaxis)
    default = next((run.value(key) for run in tuned.check.runs if run.scenario == DEFAULT), None)
    if isinstance(default, int | float):
        panel.axvline(default, color=quiet(), **_DEFAULT)
    _finish(panel, tuned, shown, broken(as_label(key), _LINE_CHARACTERS))


def _scatter(panel: "Axes", found: list[tuple[float, Trial]], tuned: Tuned, shown: Unit) -> None:
    """Draw trials: those that hold, those that do not, and the best."""
    points = [(x, trial.value / shown.per_axis_unit, trial) for x, trial in found if trial.value is not None]
    holding = [(x, y) for x, y, trial in points if trial.holds]
    others = [(x, y) for x, y, trial in points if not trial.holds]
    best = [(x, y) for x, y, trial in points if trial is tuned.best]
    usual, highlighted = palette(2)
    for chosen, colour, look, name in (
        (holding, usual, _HOLDS, "setting"),
        (others, usual, _FAINT, "breaks a limit or loses requests"),
        (best, highlighted, _BEST, "best"),
    ):
        if chosen:
            panel.scatter(*zip(*chosen, strict=True), color=colour, label=name, **look)


def _finish(panel: "Axes", tuned: Tuned, shown: Unit, xlabel: str) -> None:
    import pandas as pd  # noqa: PLC0415

    values = [value / shown.per_axis_unit for value in _values(tuned)]
    if values:
        set_scale(panel.yaxis, shown, pd.Series(values), logarithmic=True)
    if tuned.default.value is not None:
        default = tuned.default.value / shown.per_axis_unit
        panel.axhline(default, color=quiet(), label="default", **_DEFAULT)
    axis = f" ({shown.axis})" if shown.axis else ""
    panel.set(xlabel=xlabel, ylabel=f"{label(tuned.goal.metric)}{axis}")


def _axis(tuned: Tuned) -> Unit:
    import pandas as pd  # noqa: PLC0415

    return axis_unit(unit(tuned.goal.metric), pd.DataFrame({"value": _values(tuned)}))


def _values(tuned: Tuned) -> list[float]:
    found = [trial.value for trial in (tuned.default, *tuned.trials)]
    return [value for value in found if value is not None and isfinite(value)]
