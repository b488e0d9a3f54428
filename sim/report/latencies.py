"""Distributions of TTFT, ITL and E2E: histograms with their percentiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base import words
from sim.report.chart import BOTTOM, LEFT, RIGHT, WIDTH, Chart, DataTable, Drawing
from sim.report.line_labels import placed
from sim.report.scales import Scale, percent_tick, spanning, time_tick
from sim.results.phases import counted
from sim.results.rows import Rows

_SHOWN = {
    "ttft_s": "Time to first token (TTFT)",
    "itl_s": "Time between tokens (ITL)",
    "e2e_s": "Time to last token (E2E)",
}
_MARKED = ("p50", "p95", "p99")
_BINS = 30
_HEIGHT = 210.0
_LABEL_ROW = 13.0


def latency_charts(rows: Rows, summary: dict[str, Any]) -> list[Chart]:
    """Return a histogram for each latency that has samples."""
    charts = []
    for name, title in _SHOWN.items():
        values, counts = _sample(rows, name)
        if values.size:
            charts.append(_histogram(name, title, values, counts, summary[name]))
    return charts


def _sample(rows: Rows, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return values and how often each occurs."""
    if name == "itl_s":
        return rows.tables["itl"].values("gap_s").values, rows.tables["itl"].values("n").values
    requests = counted(rows.tables["requests"])
    values, measured = requests.values(name)
    completed = requests.values("status").values == "completed"
    found = values[measured & completed]
    return found, np.ones(found.size, dtype=np.int64)


def _histogram(
    name: str,
    title: str,
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    numbers: dict[str, Any],
) -> Chart:
    x = spanning(float(values.min()), float(values.max()), LEFT, WIDTH - RIGHT)
    edges = np.geomspace(x.low, x.high, _BINS + 1) if x.logarithmic else np.linspace(0.0, x.high, _BINS + 1)
    edges[[0, -1]] = x.low, x.high
    shares = np.histogram(values, edges, weights=counts)[0] / counts.sum()
    top = 8 + _LABEL_ROW * len(_MARKED)
    y = Scale(0.0, float(shares.max()), _HEIGHT - BOTTOM, top)
    of = "gaps" if name == "itl_s" else "requests"
    drawing = Drawing(f"chart-{name.replace('_', '-')}", title, _in_words(numbers, of), _HEIGHT)
    drawing.y_axis(y, percent_tick)
    table = []
    for low, high, share in zip(edges[:-1], edges[1:], shares, strict=True):
        says = [words.seconds(float(low)), words.seconds(float(high)), words.percent(float(share))]
        table.append(says)
        if share:
            top = min(y(share), y(0) - 1)  # what is rare shows too
            drawing.rect((x(low) + 0.5, x(high) - 0.5), (top, y(0)), "bar", "{} to {}: {}".format(*says))
    _mark(drawing, x, [(percentile, numbers[percentile]) for percentile in _MARKED])
    drawing.x_axis(x, time_tick, y(0))
    return drawing.chart(DataTable(("from", "to", f"share of {of}"), table))


def _mark(drawing: Drawing, x: Scale, percentiles: Sequence[tuple[str, float]]) -> None:
    """Draw percentiles as lines, their values above, a row each."""
    found = [
        (x(min(max(value, x.low), x.high)), f"{name} {words.seconds(value)}") for name, value in percentiles
    ]
    for label in placed(found, WIDTH):
        top = 8 + _LABEL_ROW * label.row
        drawing.line(label.place, top - 6, label.place, _HEIGHT - BOTTOM, "mark")
        aside = -5 if label.on_the_left else 5
        anchor = "end" if label.on_the_left else "start"
        drawing.text(label.place + aside, top + 4, label.text, "strong", anchor)


def _in_words(numbers: dict[str, Any], of: str) -> str:
    p50, p95, most = (words.seconds(numbers[key]) for key in ("p50", "p95", "max"))
    n = words.count(numbers["n"])
    return f"Of {n} {of}, half took at most {p50}, 95 % at most {p95}, the longest {most}."
