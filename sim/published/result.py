"""The whole of a validation against a published cluster: all scores, ready for JSON and for a table file."""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.whole_file import whole_file
from sim.experiments.jobs.fingerprint import code
from sim.published.scores import CellScore, RowScore, score
from sim.published.static import StaticScore
from sim.published.study import Study
from sim.published.targets import TargetFile
from sim.results.parquet import write_parquet

SCHEMA_VERSION = 1

RESULTS, RUNS_TABLE = "results.csv", "runs.parquet"

COLUMNS = (
    "id",
    "kind",
    "may_be_fitted",
    "workload",
    "place",
    "sessions",
    "unit",
    "low",
    "high",
    "simulated",
    "interval_low",
    "interval_high",
    "runs",
    "share_of_runs_inside",
    "holds",
    "decides",
    "row_holds",
    "fingerprint",
)
"""Of the table file: a line for each place of each row, on each workload. `decides`: the place that is
furthest from the band (nearest, where one place is enough); `fingerprint`: of its runs."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one variant of the simulator says of all rows."""

    targets: TargetFile
    static: tuple[StaticScore, ...]
    dynamic: dict[str, tuple[RowScore, ...]]
    """By workload, in the order of the file."""
    study: Study
    notes: tuple[str, ...]


def result(targets: TargetFile, static: Iterable[StaticScore], study: Study) -> Result:
    """Score the dynamic rows, and join them to the scores of the static ones."""
    dynamic = targets.of_kind("dynamic")
    return Result(
        targets,
        tuple(static),
        {
            workload.name: tuple(score(row, study, workload) for row in dynamic)
            for workload in study.plans.workloads
        },
        study,
        tuple(_notes(study)),
    )


def _notes(study: Study) -> Iterator[str]:
    yield f"step times: {study.times}"
    hung = [
        f"{one.workload} seed {one.replicate.seed}, {' '.join(map(str, one.point))}"
        for one in study.made
        if one.hung
    ]
    if hung:
        yield f"left out, since they hung with requests that could never end: {'; '.join(hung)}"


def to_dict(found: Result) -> dict[str, Any]:
    """Return all scores, ready for JSON."""
    plans = found.study.plans
    return {
        "schema_version": SCHEMA_VERSION,
        "targets": str(found.targets.path),
        "code": code(),
        "settings": list(plans.overrides),
        "replicates": {
            workload.name: [replicate._asdict() for replicate in workload.replicates]
            for workload in plans.workloads
        },
        "static": [
            {
                "id": row.target.id,
                "unit": row.target.unit,
                "band": row.target.band._asdict(),
                "value": row.value,
                "interval": row.interval,
                "holds": row.holds,
            }
            for row in found.static
        ],
        "dynamic": [_row(row) for rows in found.dynamic.values() for row in rows],
        "notes": list(found.notes),
    }


def _row(row: RowScore) -> dict[str, Any]:
    return {
        "id": row.target.id,
        "workload": row.workload,
        "may_be_fitted": row.target.fitted,
        "unit": row.target.unit,
        "band": row.target.band._asdict(),
        "holds": row.holds,
        "places": [
            {
                "place": score.cell.label,
                "sessions": score.cell.level,
                "simulated": score.median,
                "interval": score.interval,
                "runs": len(score.values),
                "share_of_runs_inside": score.share,
                "holds": score.holds,
            }
            for score in row.cells
        ],
    }


def write(found: Result, folder: Path) -> None:
    """Write the table of all places and every number of every run into a folder."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    with whole_file(folder / RESULTS) as built, built.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows(_lines(found))
    write_parquet(pa.Table.from_pylist(list(_numbers(found.study))), folder / RUNS_TABLE)


def _lines(found: Result) -> Iterator[Sequence[object]]:
    for static in found.static:
        target = static.target
        head = (target.id, target.kind, target.may_be_fitted, "", "", "", target.unit, *target.band)
        yield _written(
            *head,
            static.value,
            *(static.interval or (None, None)),
            "",
            "",
            static.holds,
            True,
            static.holds,
            "",
        )
    for workload in found.study.plans.workloads:
        for row in found.dynamic[workload.name]:
            for cell in row.cells:
                yield _line(row, cell, found.study.fingerprints(workload, cell.cell))


def _line(row: RowScore, score: CellScore, keys: Sequence[str]) -> Sequence[object]:
    target = row.target
    return _written(
        target.id,
        target.kind,
        target.may_be_fitted,
        row.workload,
        score.cell.label,
        score.cell.level,
        target.unit,
        *target.band,
        score.median,
        *(score.interval or (None, None)),
        len(score.values),
        score.share,
        score.holds,
        score is row.deciding,
        row.holds,
        hashlib.sha256(" ".join(keys).encode()).hexdigest()[:16],
    )


def _written(*values: object) -> list[object]:
    """Return values as the file has them: numbers to six digits, yes and no."""
    return [_cell(value) for value in values]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


def _numbers(study: Study) -> Iterator[dict[str, object]]:
    for one in study.made:
        for metric, value in one.run.numbers.items():
            if value is not None:
                yield {
                    "workload": one.workload,
                    **one.point._asdict(),
                    **one.replicate._asdict(),
                    "metric": metric,
                    "value": float(value),
                }
