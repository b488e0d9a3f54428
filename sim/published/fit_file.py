"""What a fit to a published cluster leaves behind: a file of coefficients in the format of `calibration/`."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from sim.hardware.coefficient_file import Coefficient, CoefficientFile, DataFile
from sim.hardware.coefficient_toml import rounded, written
from sim.published.cluster import PublishedCluster
from sim.published.fit import Fit
from sim.published.targets import TargetFile
from sim.scenario.scenario import Scenario
from sim.workload.load import load_workload


def content(
    fit: Fit,
    prior: CoefficientFile,
    prior_name: str,
    cluster: PublishedCluster,
    workloads: Sequence[Scenario],
) -> CoefficientFile:
    """Return the file's content: the fit's coefficients, and the others as the prior has them.

    Args:
        fit: what was found.
        prior: the file that it started from.
        prior_name: what that is called.
        cluster: what it was fitted to.
        workloads: a scenario of each seed with the most sessions: whose requests the fit saw.

    """
    rows = [row.target.id for row in fit.best.rows]
    data = [_of_targets(cluster.targets, len(rows)), *map(_of_workload, workloads)]
    entries = {
        name: _entry(name, known, fit, f"{cluster.settings.name}; {prior_name}")
        for name, known in prior.entries.items()
    }
    return CoefficientFile(
        model=prior.model,
        gpu=prior.gpu,
        parallel=prior.parallel,
        formats=prior.formats,
        origin="fitted",
        summary=f"fitted to {cluster.fit().rows} ({', '.join(rows)}), with {prior_name} as prior",
        step={name: entries[name] for name in prior.step},
        frontend={name: entries[name] for name in prior.frontend},
        dense=prior.dense,
        data=tuple(data),
    )


def _entry(name: str, known: Coefficient, fit: Fit, sources: str) -> Coefficient:
    if name not in fit.values:
        return known
    source = f"fitted to {sources} has {written(known.value)}"
    changes = {"value": fit.values[name], "sigma": rounded(fit.sigmas[name]), "source": source}
    return known.model_copy(update=changes)


def _of_targets(targets: TargetFile, rows: int) -> DataFile:
    digest = hashlib.sha256(targets.path.read_bytes()).hexdigest()
    return DataFile(file=targets.path.name, sha256=digest, rows=rows)


def _of_workload(scenario: Scenario) -> DataFile:
    trace = load_workload(scenario.workload, scenario.seed, Path())
    digest = hashlib.sha256()
    for request in trace.requests:
        digest.update(repr((request.session, request.timestamp_s, request.output_tokens)).encode())
        digest.update(repr([*request.chunks]).encode())
    name = f"{trace.source}, {scenario.workload.sessions} sessions, seed {scenario.seed}"
    return DataFile(file=name, sha256=digest.hexdigest(), rows=len(trace.requests))
