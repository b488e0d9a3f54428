"""Predictions as parts of what was measured: a line a number, a colour for each way to predict it."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from sim.show.pictures.fitting import fit_legend, fit_ticks, height_inches
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.style import CHARACTERS_AN_INCH, ONE_INCHES, palette, quiet, style
from sim.show.pictures.ticks import logarithmic, number, spans_decades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = 24
"""On a page."""
_LINE_INCHES = 0.24
_NAME_CHARACTERS = 34
_TITLE_CHARACTERS = min(int(CHARACTERS_AN_INCH * ONE_INCHES[0]), 60)
"""Of a line; more would be shortened as a name is."""
_DODGE = 0.6
"""Of a line, what all colours together take."""


class Ratio(NamedTuple):
    """A prediction over what was measured: 1 is right."""

    name: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None


def plots_of_ratios(ratios: Sequence[Ratio], title: str) -> "list[Figure]":
    """Return the figures, a page each; none without ratios."""
    names = list(dict.fromkeys(ratio.name for ratio in ratios))
    parts = [names[first : first + _LINES] for first in range(0, len(names), _LINES)]
    series = list(dict.fromkeys(ratio.series for ratio in ratios))
    with style():
        return [
            _page(
                [ratio for ratio in ratios if ratio.name in part],
                part,
                series,
                title + (f" (page {place} of {len(parts)})" if len(parts) > 1 else ""),
            )
            for place, part in enumerate(parts, 1)
        ]


def _page(ratios: Sequence[Ratio], names: Sequence[str], series: Sequence[str], title: str) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    labels = as_labels(names, _NAME_CHARACTERS)
    lines = sum(label.count("\n") + 1 for label in labels.values())
    figure = Figure(figsize=(ONE_INCHES[0], 1.0 + _LINE_INCHES * max(lines, 4)), layout="constrained")
    panel = figure.subplots()
    panel.axvline(1, color=quiet(), linestyle="--", linewidth=1, label="as measured")
    shift = _DODGE / max(len(series), 1)
    for place, (one, colour) in enumerate(zip(series, palette(len(series)), strict=True)):
        found = [ratio for ratio in ratios if ratio.series == one]
        at = [names.index(ratio.name) + shift * (place - (len(series) - 1) / 2) for ratio in found]
        panel.scatter([ratio.value for ratio in found], at, color=colour, s=22, zorder=3, label=as_label(one))
        for y, ratio in zip(at, found, strict=True):
            if ratio.low is not None and ratio.high is not None:
                panel.plot([ratio.low, ratio.high], [y, y], color=colour, linewidth=1.5)
    ends = [end for ratio in ratios for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    if spans_decades(ends):
        logarithmic(panel.xaxis)
    else:
        number(panel.xaxis)
    panel.set_yticks(range(len(names)), [labels[name] for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_xlabel("Predicted / measured")
    above = fit_legend(
        figure,
        *panel.get_legend_handles_labels(),
        title="\n".join(map(as_label, wrap(title, _TITLE_CHARACTERS, max_lines=3, placeholder=" …"))),
        most_columns=4,
    )
    figure.set_figheight(figure.get_figheight() + height_inches(figure, above))
    fit_ticks(figure)
    return figure
