"""Recomputed prompt tokens by cause, stacked: along the run, and by worker."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sim.base import words
from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
from sim.report.names import WorkerNames
from sim.report.scales import Scale, count_tick, time_tick
from sim.results.labels import CAUSE_LABELS

MOST_WORKERS = 16
_BINS = 24
_HEIGHT = 230.0
_BAR, _PITCH = 14.0, 19.0


class Cause(NamedTuple):
    """A cause that occurred, for the legend."""

    name: str
    label: str
    tokens: str
    share: str


class Bars(NamedTuple):
    """What is said of a chart of bars."""

    key: str
    title: str
    says: str
    of: str
    """What has a bar: "worker"."""


def legend(by_cause: Mapping[str, int]) -> list[Cause]:
    """Return the causes of a run, those that never occurred left out."""
    total = sum(by_cause.values())
    return [
        Cause(name, CAUSE_LABELS[name], words.count(tokens), words.percent(tokens / total))
        for name, tokens in by_cause.items()
        if tokens
    ]


def cause_charts(requests: pd.DataFrame, summary: Mapping[str, Any], names: WorkerNames) -> list[Chart]:
    """Return the two charts; none if nothing was recomputed."""
    causes = [name for name, tokens in summary["prefill"]["by_cause"].items() if tokens]
    if not causes:
        return []
    computed = requests[requests["first_scheduled_s"].notna()]
    return [
        _along_the_run(computed, causes, summary["simulated_s"]),
        _by_worker(computed, causes, names),
    ]


def _along_the_run(requests: pd.DataFrame, causes: Sequence[str], simulated_s: float) -> Chart:
    edges = np.linspace(0.0, simulated_s, _BINS + 1)
    place = np.clip(np.searchsorted(edges, requests["first_scheduled_s"], "right") - 1, 0, _BINS - 1)
    tokens = np.zeros((_BINS, len(causes)), dtype=np.int64)
    np.add.at(tokens, place, requests[_columns(causes)].to_numpy(dtype=np.int64))
    totals = tokens.sum(axis=1)
    most = int(totals.argmax())
    x = Scale(0.0, simulated_s, LEFT, WIDTH - RIGHT)
    y = Scale(0.0, float(totals[most]), _HEIGHT - BOTTOM, TOP)
    says = (
        f"By when a request was first scheduled. Most in the {words.seconds(float(edges[1]))} from "
        f"{words.seconds(float(edges[most]))} on: {words.count(totals[most])} of {words.count(totals.sum())}."
    )
    drawing = Drawing("chart-causes-time", "Recomputed tokens along the run", says, _HEIGHT)
    drawing.y_axis(y, count_tick)
    spans = []
    for start, end, row in zip(edges[:-1], edges[1:], tokens.tolist(), strict=True):
        spans.append(f"{words.seconds(float(start))} to {words.seconds(float(end))}")
        for cause, below, above in _stacked(causes, row):
            says = _says(spans[-1], cause, above - below)
            drawing.rect((x(start) + 1, x(end) - 1), (y(above), y(below)), f"cause {cause}", says)
    drawing.x_axis(x, time_tick, y(0))
    return drawing.chart(_table("first scheduled", causes, spans, tokens.tolist()))


def _by_worker(requests: pd.DataFrame, causes: Sequence[str], names: WorkerNames) -> Chart:
    sums = requests.groupby("worker")[_columns(causes)].sum()
    totals = sums.sum(axis=1).sort_values(ascending=False, kind="stable")
    sums = sums.loc[sorted(totals.index[:MOST_WORKERS])]
    says = f"Most by {names.long(totals.index[0])}: {words.counted(totals.iloc[0], 'token')}."
    if len(totals) > len(sums):
        says += f" Shown are the {len(sums)} of {words.exactly(len(totals), 'worker')} with most."
    shown = [(names.short(worker), names.long(worker)) for worker in sums.index]
    tokens = sums.to_numpy(dtype=np.int64).tolist()
    about = Bars("chart-causes-worker", "Recomputed tokens by worker", says, "worker")
    return stacked_bars(about, causes, shown, tokens)


def stacked_bars(
    about: Bars, causes: Sequence[str], names: Sequence[tuple[str, str]], tokens: Sequence[Sequence[int]]
) -> Chart:
    """Return a bar for each of several, which have a short and a long name, from their tokens by cause."""
    height = TOP + len(names) * _PITCH + BOTTOM
    x = Scale(0.0, float(max(map(sum, tokens))) or 1.0, LEFT, WIDTH - RIGHT)
    drawing = Drawing(about.key, about.title, about.says, height)
    for tick in x.ticks():
        drawing.line(x(tick), TOP, x(tick), height - BOTTOM, "rule")
    for place, ((short, long), row) in enumerate(zip(names, tokens, strict=True)):
        top = TOP + place * _PITCH
        drawing.text(LEFT - 6, top + _BAR - 3, short, anchor="end")
        for cause, before, after in _stacked(causes, row):
            drawing.rect(
                (x(before), x(after)), (top, top + _BAR), f"cause {cause}", _says(long, cause, after - before)
            )
    drawing.x_axis(x, count_tick, height - BOTTOM)
    return drawing.chart(_table(about.of, causes, [long for _, long in names], tokens))


def _columns(causes: Sequence[str]) -> list[str]:
    return [f"{cause}_tokens" for cause in causes]


def _stacked(causes: Sequence[str], tokens: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield each cause that has tokens, with those before it and those up to its end."""
    end = 0
    for cause, n in zip(causes, tokens, strict=True):
        if n:
            yield cause, end, end + n
        end += n


def _table(
    first: str, causes: Sequence[str], names: Sequence[str], tokens: Sequence[Sequence[int]]
) -> DataTable:
    rows = [[name, *map(words.count, row)] for name, row in zip(names, tokens, strict=True)]
    return DataTable((first, *(CAUSE_LABELS[cause] for cause in causes)), rows)


def _says(where: str, cause: str, tokens: int) -> str:
    return f"{where}, {CAUSE_LABELS[cause]}: {words.counted(tokens, 'token')}"
