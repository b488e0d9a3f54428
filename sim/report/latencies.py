"""Distributions of TTFT, ITL and E2E: histograms with their percentiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base import words
from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
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
Sample = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Values and how often each occurs."""


def latency_charts(rows: Rows, summary: dict[str, Any]) -> list[Chart]:
    """Return a histogram for each latency that has samples."""
    charts = []
    for name, title in _SHOWN.items():
        values, counts = _sample(rows, name)
        if values.size:
            charts.append(_histogram(name, title, values, counts, summary[name]))
    return charts


def _sample(rows: Rows, name: str) -> Sample:
    if name == "itl_s":
        return rows.tables["itl"].values("gap_s").values, rows.tables["itl"].values("n").values
    requests = counted(rows.tables["requests"])
    values, measured = requests.values(name)
    completed = requests.values("status").values == "completed"
    found = values[measured & completed]
    return found, np.ones(found.size, dtype=np.int64)


def latencies_of_two(rows: Sequence[Rows], summaries: Sequence[dict[str, Any]]) -> list[Chart]:
    """Return the distributions of two runs over each other, for each latency that has samples in both."""
    charts = []
    for name, title in _SHOWN.items():
        samples = [_sample(each, name) for each in rows]
        if all(values.size for values, _ in samples):
            charts.append(_outlines(name, title, samples, [summary[name] for summary in summaries]))
    return charts


def _histogram(
    name: str, title: str, values: NDArray[np.float64], counts: NDArray[np.int64], numbers: dict[str, Any]
) -> Chart:
    x, edges = _axis(values)
    shares = _shares(edges, values, counts)
    y = Scale(0.0, float(shares.max()), _HEIGHT - BOTTOM, 8 + _LABEL_ROW * len(_MARKED))
    of = _of(name)
    drawing = Drawing(f"chart-{name.replace('_', '-')}", title, _in_words(numbers, of), _HEIGHT)
    drawing.y_axis(y, percent_tick)
    table = _table(edges, [shares])
    for low, high, share, says in zip(edges[:-1], edges[1:], shares, table, strict=True):
        if share:
            top = min(y(share), y(0) - 1)  # what is rare shows too
            drawing.rect((x(low) + 0.5, x(high) - 0.5), (top, y(0)), "bar", "{} to {}: {}".format(*says))
    _mark(drawing, x, [(percentile, numbers[percentile]) for percentile in _MARKED])
    drawing.x_axis(x, time_tick, y(0))
    return drawing.chart(DataTable(("from", "to", f"share of {of}"), table))


def _outlines(name: str, title: str, samples: Sequence[Sample], numbers: Sequence[dict[str, Any]]) -> Chart:
    """Draw the outlines of two histograms with the same parts."""
    x, edges = _axis(np.concatenate([values for values, _ in samples]))
    both = [_shares(edges, *sample) for sample in samples]
    y = Scale(0.0, float(max(shares.max() for shares in both)), _HEIGHT - BOTTOM, TOP)
    says = "; ".join(
        f"{key} {' in A, '.join(words.seconds(each[key]) for each in numbers)} in B" for key in _MARKED
    )
    drawing = Drawing(f"chart-{name.replace('_', '-')}", title, f"{says}.", _HEIGHT)
    drawing.y_axis(y, percent_tick)
    for shares, style in zip(both, ("level first", "level second"), strict=True):
        points = [(x(float(low)), y(float(share))) for low, share in zip(edges[:-1], shares, strict=True)]
        drawing.stairs([(x.start, y(0.0)), *points], x.end, style)
    drawing.x_axis(x, time_tick, y(0))
    return drawing.chart(DataTable(("from", "to", "A", "B"), _table(edges, both)))


def _axis(values: NDArray[np.float64]) -> tuple[Scale, NDArray[np.float64]]:
    """Return an axis for these values, and the edges of the parts that they are counted in."""
    x = spanning(float(values.min()), float(values.max()), LEFT, WIDTH - RIGHT)
    edges = np.geomspace(x.low, x.high, _BINS + 1) if x.logarithmic else np.linspace(0.0, x.high, _BINS + 1)
    edges[[0, -1]] = x.low, x.high
    return x, edges


def _shares(
    edges: NDArray[np.float64], values: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.histogram(values, edges, weights=counts)[0] / counts.sum()
    return found


def _table(edges: NDArray[np.float64], columns: Sequence[NDArray[np.float64]]) -> list[list[str]]:
    ends = [words.seconds(float(edge)) for edge in edges]
    return [
        [low, high, *(words.percent(float(share)) for share in shares)]
        for low, high, *shares in zip(ends[:-1], ends[1:], *columns, strict=True)
    ]


def _of(name: str) -> str:
    return "gaps" if name == "itl_s" else "requests"


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
    if numbers["n"] == 1:
        return f"Of one {of.removesuffix('s')}: {most}."
    n = words.count(numbers["n"])
    return f"Of {n} {of}, half took at most {p50}, 95 % at most {p95}, the longest {most}."
