"""The whole of a validation against a published cluster: all scores, ready for JSON and for a table file."""

import csv
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.whole_file import whole_file
from sim.experiments.jobs.fingerprint import code
from sim.published.cluster import PublishedCluster
from sim.published.measures import Level
from sim.published.scores import CellScore, RowScore, score
from sim.published.static import StaticScore
from sim.published.study import SESSIONS, Study
from sim.published.targets import Target, TargetFile
from sim.published.verdicts import ABVerdict, error, judged
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
    "metric",
    "level",
    "printed",
    "error",
    "scenarios",
)
"""Of the table file: a line for each place of each row, on each workload. `sessions`: the level, if it is
one of sessions; `decides`: the place that is furthest from the band (nearest, where one place is enough);
`fingerprint`: of its runs; `error`: in points of a share if the tolerance is, else a part of what is printed;
`scenarios`: of what is run there, see `PublishedCluster.scenarios_key`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one variant of the simulator says of all rows."""

    cluster: PublishedCluster
    static: tuple[StaticScore, ...]
    dynamic: dict[str, tuple[RowScore, ...]]
    """By workload, in the order of the file."""
    study: Study
    notes: tuple[str, ...]

    @property
    def targets(self) -> TargetFile:
        """The rows."""
        return self.cluster.targets

    def pairs(self, workload: str) -> list[ABVerdict]:
        """Return what is to be said of A/B pairs on a workload."""
        return [*judged(self.cluster.settings.ab, self.dynamic[workload])]


def result(cluster: PublishedCluster, study: Study) -> Result:
    """Score the dynamic rows, and join them to the scores of the static ones."""
    dynamic = cluster.targets.of_kind("dynamic")
    return Result(
        cluster,
        tuple(cluster.static_scores()),
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
        "cluster": found.cluster.folder.resolve().name,
        "targets": str(found.targets.path),
        "code": code(),
        "versions": found.study.versions,
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
        "dynamic": [_row(found.cluster, row) for rows in found.dynamic.values() for row in rows],
        "ab": [
            {
                "workload": workload,
                "title": verdict.pair.title,
                "base": verdict.pair.base,
                "other": verdict.pair.other,
                "metric": verdict.target.metric,
                "level": verdict.level,
                "printed": verdict.printed,
                "simulated": verdict.simulated,
                "right": verdict.right,
            }
            for workload in found.dynamic
            for verdict in found.pairs(workload)
        ],
        "notes": list(found.notes),
    }


def _row(cluster: PublishedCluster, row: RowScore) -> dict[str, Any]:
    return {
        "id": row.target.id,
        "workload": row.workload,
        "may_be_fitted": row.target.fitted,
        "unit": row.target.unit,
        "metric": row.target.metric,
        "printed": row.target.one_number,
        "band": row.target.band._asdict(),
        "holds": row.holds,
        "places": [
            {
                "place": score.cell.label,
                "level": score.cell.level,
                "sessions": _sessions(cluster, score),
                "simulated": score.median,
                "error": _error(row.target, score.median),
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
        head = (
            target.id,
            target.kind,
            target.may_be_fitted,
            "",
            target.memory_of,
            "",
            target.unit,
            *target.band,
        )
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
            target.metric,
            "",
            target.one_number,
            _error(target, static.value),
            "",
        )
    for workload in found.study.plans.workloads:
        for row in found.dynamic[workload.name]:
            for cell in row.cells:
                keys = found.study.fingerprints(workload, cell.cell)
                yield _line(found.cluster, row, cell, keys)


def _line(
    cluster: PublishedCluster, row: RowScore, score: CellScore, keys: Sequence[str]
) -> Sequence[object]:
    target = row.target
    return _written(
        target.id,
        target.kind,
        target.may_be_fitted,
        row.workload,
        score.cell.label,
        _sessions(cluster, score),
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
        target.metric,
        score.cell.level,
        target.one_number,
        _error(target, score.median),
        cluster.scenarios_key(score.cell.points),
    )


def _sessions(cluster: PublishedCluster, score: CellScore) -> Level | None:
    return score.cell.level if cluster.level == SESSIONS else None


def _error(target: Target, simulated: float | None) -> float | None:
    found = error(target, simulated)
    return None if found is None else found.size


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
                    "configuration": one.point.configuration,
                    "sessions": one.scenario.workload.sessions,
                    "level": None if one.point.level is None else float(one.point.level),
                    "replay": one.point.replay,
                    **one.replicate._asdict(),
                    "metric": metric,
                    "value": float(value),
                }
