"""Many runs of a sweep or comparison: a row a point, settings and numbers, and where its runs lie."""

from pathlib import Path
from typing import NamedTuple

from sim.report.run_pages import RunPage, run_page
from sim.results.quantities import label, unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point, Row
from sim.runs.spread import Spread


class Shown(NamedTuple):
    """A scenario at a point."""

    number: int
    """From 1, in the order of the sweep."""
    name: str
    """What sets it apart, in words: "router.policy=kv"."""
    cells: list[str]
    """Its settings, then its numbers."""
    values: list[Spread]
    """Its numbers over its runs."""
    runs: list[RunPage]
    failed: list[str]
    """Why runs of it failed."""


class Many(NamedTuple):
    """All points."""

    settings: list[str]
    """What the first columns are of: "scenario" where there are several, then the swept keys."""
    metrics: list[str]
    points: list[Shown]

    @property
    def columns(self) -> list[str]:
        """The heads of the table."""
        return ["run", *self.settings, *map(label, self.metrics), "open"]


def many(comparison: Comparison, metrics: list[str], folder: Path, seen_from: Path) -> Many:
    """Return the points of a comparison that a folder holds, for a page that is to lie at `seen_from`."""
    several = len(comparison.scenarios) > 1 or not comparison.keys
    rows: dict[Point, list[Row]] = {}
    for row in comparison.rows(metrics):
        rows.setdefault(row.point, []).append(row)
    places = [(point, name) for point in comparison.points for name in comparison.scenarios]
    shown: list[Shown] = []
    for point, name in places:
        runs = comparison.runs_at(name, point)
        if not runs:
            continue
        settings = dict(zip(comparison.keys, point, strict=True))
        texts = {key: comparison.written(key, value) for key, value in settings.items()}
        spreads = {row.metric: row.spreads[name] for row in rows.get(point, [])}
        values = [spreads.get(metric, Spread(None, None, None, None, None, 0)) for metric in metrics]
        numbers = [unit(metric).show(value.middle) for metric, value in zip(metrics, values, strict=True)]
        apart = [*([name] if several else []), *(f"{key}={text}" for key, text in texts.items())]
        shown.append(
            Shown(
                len(shown) + 1,
                ", ".join(apart),
                [*([name] if several else []), *texts.values(), *numbers],
                values,
                [run_page(comparison, run, folder, seen_from) for run in runs if run.summary is not None],
                [run.error for run in runs if run.summary is None],
            )
        )
    return Many([*(["scenario"] if several else []), *comparison.keys], metrics, shown)
