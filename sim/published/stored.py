"""Stored results of a shipped cluster, and whether they are of what is written down today."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isclose
from pathlib import Path

from sim.base import reading
from sim.base.errors import InputError
from sim.published.cells import Cell, cells
from sim.published.cluster import PublishedCluster
from sim.published.measures import level_text
from sim.published.scores import CellScore, RowScore, distance
from sim.published.static import StaticScore
from sim.published.study import GENERATED
from sim.published.targets import Target

FILES = ("results.csv", "results-priors.csv")
"""The first that is there counts."""
Line = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """Stored scores on the generated workload; of a place, the median run stands for all runs."""

    path: Path
    static: tuple[StaticScore, ...]
    dynamic: tuple[RowScore, ...]
    differing: tuple[str, ...]
    """What is not as today's rows and variants have it, a sentence each."""


def stored_file(cluster: PublishedCluster) -> Path | None:
    """Return the file of a cluster's stored results, if there is one."""
    paths = (cluster.folder / name for name in FILES)
    return next((path for path in paths if path.is_file()), None)


def read_stored(cluster: PublishedCluster) -> Stored:
    """Return what is stored of a cluster.

    Raises:
        InputError: nothing is, or a line is not what `sim validate published --out` writes.

    """
    path = stored_file(cluster)
    if path is None:
        raise InputError(f"{cluster.folder}: no results are stored: has no file {FILES[0]}")
    lines = {
        (line["id"], line["place"], line.get("level") or line["sessions"]): line
        for line in csv.DictReader(reading.text(path).splitlines())
        if line["workload"] in {"", GENERATED}
    }
    differing: list[str] = []

    def found(target: Target, place: str, level: str) -> Line | None:
        line = lines.pop((target.id, place, level), None)
        where = f"{target.id}{f' at {place}' if place else ''}{f'@{level}' if level else ''}"
        differing.extend(f"{where}: {text}" for text in _differing(target, line))
        return line

    static = []
    for target in cluster.targets.of_kind("static"):
        line = found(target, target.memory_of, "")
        if line is not None:
            static.append(StaticScore(target, float(line["simulated"]), None))
    dynamic = []
    for target in cluster.targets.of_kind("dynamic"):
        scores = []
        for cell in cells(target):
            line = found(target, cell.label, level_text(cell.level))
            scores.append(_score(target, cell, line))
            if line and line.get("scenarios") not in {None, "", cluster.scenarios_key(cell.points)}:
                differing.append(f"{target.id} at {cell.place}: stored of another scenario or other settings")
        dynamic.append(RowScore(target, GENERATED, tuple(scores)))
    differing += [f"{name}: is stored, and no row of {cluster.targets.path.name}" for name, *_ in lines]
    return Stored(path, tuple(static), tuple(dynamic), tuple(differing))


def _differing(target: Target, line: Line | None) -> Iterator[str]:
    if line is None:
        yield "nothing is stored of it"
        return
    for end, limit in target.band._asdict().items():
        text = line[end]
        if (limit is None) != (text == "") or not isclose(float(text or 0), limit or 0, rel_tol=1e-5):
            today = "none" if limit is None else f"{limit:g}"
            yield f"is stored with {end} = {text or 'none'}, it has {today}"
    if line["may_be_fitted"] != target.may_be_fitted:
        yield f"is stored with may_be_fitted = {line['may_be_fitted']}"


def _score(target: Target, cell: Cell, line: Line | None) -> CellScore:
    if line is None or not line["simulated"]:
        return CellScore(cell, (), holds=False, share=None, off=inf)
    value = float(line["simulated"])
    judged = abs(value) if target.combine == "difference" else value
    return CellScore(cell, (value,), line["holds"] == "yes", None, distance(judged, target.band))
