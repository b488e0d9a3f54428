"""Pictures of validations, from what is ready for JSON: predictions over what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.words import exactly
from sim.results.labels import LATENCY_LABELS
from sim.show.pictures.pages import write_pages
from sim.show.pictures.ratios import Ratio, plots_of_ratios
from sim.validation.show_numbers import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEPS = {"free": "router chooses", "timed": "all simulated"}


def plots_of_runs(runs: Sequence[Mapping[str, Any]], scenario: str) -> "list[Figure]":
    """Return the figures of `sim.validation.validate.validate`; none where nothing was compared."""
    several = len(runs) > 1
    ratios = [
        ratio._replace(name=f"{run['title']}: {ratio.name}" if several else ratio.name)
        for run in runs
        for ratio in _of_run(run)
    ]
    title = exactly(len(runs), "run") if several else str(runs[0]["title"])
    return plots_of_ratios(ratios, f"{title}, validated on {scenario}")


def plots_of_requests(result: Mapping[str, Any], scenario: str) -> "list[Figure]":
    """Return the figures of `sim.validation.requests.validate.validate_requests`: the scenario's own law."""
    law = result["laws"][0]["name"]
    ratios = [
        Ratio(run["name"], _column(column), 1 + off)
        for run in result["runs"]
        for column, off in run["errors"][law].items()
        if off is not None and column != "request_e2e"
    ]
    return plots_of_ratios(ratios, f"{result['file']['name']}, validated on {scenario}")


def write_pictures(figures: "Sequence[Figure]", folder: Path, name: str = "validation") -> list[Path]:
    """Write NAME.png, and more pages beside it; returns where."""
    return write_pages(figures, folder, name, "png")


def _of_run(run: Mapping[str, Any]) -> Iterator[Ratio]:
    if run["forced"]:
        for name, found in run["forced"]["numbers"].items():
            for key, series in (("predicted", "workers as recorded"), ("baseline", "LRU")):
                if found["measured"] and found[key] is not None:
                    yield Ratio(label(name), series, found[key] / found["measured"])
    for step, series in _STEPS.items():
        for name, found in (run[step] or {"predictions": {}})["predictions"].items():
            measured = found["measured"]
            if measured and found["compared"]:
                mean, low, high = (found[key] / measured for key in ("mean", "low", "high"))
                yield Ratio(label(name), series, mean, low, high)


def _column(column: str) -> str:
    """Return what a column of errors is called: "TTFT p50"."""
    name, _, percentile = column.rpartition("_")
    return f"{LATENCY_LABELS[f'{name}_s']} {percentile}"
