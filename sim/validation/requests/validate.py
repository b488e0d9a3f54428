"""Validates a scenario on runs of requests: every run with every law, as one object, ready for JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sim.base.sums import added
from sim.experiments.jobs.processes import in_processes
from sim.hardware.coefficient_file import FittedRun
from sim.measured.formats.requests_csv import RequestsFile, RequestsRun
from sim.scenario.scenario import Scenario
from sim.simulation.versions import versions_of
from sim.validation.requests.kinds import kind_of
from sim.validation.requests.latencies import PERCENTILES, errors, measured, predicted, request_error
from sim.validation.requests.laws import Law, laws

SCHEMA_VERSION = 1

GROUPS = {
    "fitted": "fitted",
    "new": "held out: new arrivals",
    "repeat": "held out: repeats of fitted arrivals",
    "held_out": "held out: both",
    "saturated_fitted": "saturated, fitted",
    "saturated": "saturated, held out",
}
"""Groups of runs that errors are averaged over, by name; the first four without those that are saturated."""

COLUMNS = tuple(f"{name.removesuffix('_s')}_p{percentile}" for name, percentile in PERCENTILES)


def validate_requests(
    file: RequestsFile,
    scenario: Scenario,
    *,
    baselines: bool = True,
    fitted: Sequence[FittedRun] | None = None,
    jobs: int | None = None,
    on_run: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return what the simulator predicts of every run of a file, beside what was measured.

    Args:
        file: the measured runs.
        scenario: of the engine that was measured; its workload is not used.
        baselines: whether other laws are tried beside the scenario's (`sim.validation.requests.laws`).
        fitted: the runs that the scenario's coefficients were fitted to; None: those that their file names.
        jobs: processes; None: as many as there are cores.
        on_run: called whenever a run has been predicted with a law.

    Raises:
        InputError: the scenario's coefficients cannot be used.

    """
    tried = laws(scenario) if baselines else laws(scenario)[:1]
    # The longest first, so that none is left alone at the end.
    tasks = sorted(
        ((run, law) for run in file.runs for law in tried), key=lambda task: len(task[0]), reverse=True
    )
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    unserved: dict[str, int] = {}
    for _, (run, law, numbers, n_unserved) in in_processes(_errors, tasks, jobs):
        found[run, law] = numbers
        unserved[run] = max(n_unserved, unserved.get(run, 0))
        on_run()
    times = scenario.coefficients()
    if fitted is None:
        fitted = times.file.fitted_runs if times.file is not None else ()
    runs = [
        {
            **_run(run, fitted, {law.name: found[run.name, law.name] for law in tried}),
            "unserved": unserved[run.name],
        }
        for run in file.runs
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "versions": versions_of(scenario),
        "file": {"name": file.path.name, "sha256": file.sha256},
        "step_times": times.summary,
        "laws": [{"name": law.name, "label": law.label} for law in tried],
        "runs": runs,
        "groups": [group for name in GROUPS if (group := _group(name, runs, tried))],
    }


def n_predictions(file: RequestsFile, scenario: Scenario, *, baselines: bool = True) -> int:
    """Return how often `validate_requests` calls `on_run`."""
    return len(file.runs) * (len(laws(scenario)) if baselines else 1)


def _errors(task: tuple[RequestsRun, Law]) -> tuple[str, str, dict[str, float | None], int]:
    """Predict one run with one law, and count the answered requests that are refused here.

    Called in a process of its own.
    """
    run, law = task
    real, simulated = measured(run), predicted(run, law.scenario)
    numbers = dict(zip(COLUMNS, errors(real, simulated), strict=True))
    n_unserved = int((np.isnan(simulated.e2e_s) & ~np.isnan(real.e2e_s)).sum())
    return run.name, law.name, {**numbers, "request_e2e": request_error(real, simulated)}, n_unserved


def _run(
    run: RequestsRun, fitted: Sequence[FittedRun], numbers: Mapping[str, Mapping[str, float | None]]
) -> dict[str, Any]:
    kind = kind_of(run, fitted)
    real = measured(run)
    return {
        "name": run.name,
        "requests": len(run),
        "rate_per_s": run.rate_per_s,
        "seen": kind.seen,
        "repeats": kind.repeats,
        "saturated": kind.saturated,
        "measured_s": {
            column: real.percentile(name, percentile)
            for column, (name, percentile) in zip(COLUMNS, PERCENTILES, strict=True)
        },
        "errors": numbers,
    }


def _group(name: str, runs: Sequence[Mapping[str, Any]], tried: Iterable[Law]) -> dict[str, Any] | None:
    """Return the mean absolute errors over the runs of a group, by law; None if no run is in it."""
    members = [run for run in runs if _belongs(run, name)]
    if not members:
        return None
    means = {
        law.name: {
            column: _mean_size([run["errors"][law.name][column] for run in members])
            for column in (*COLUMNS, "request_e2e")
        }
        for law in tried
    }
    return {"name": name, "label": GROUPS[name], "runs": len(members), "mean_absolute_error": means}


def _mean_size(numbers: Iterable[float | None]) -> float | None:
    """Return the mean absolute value of those that there are."""
    known = [abs(number) for number in numbers if number is not None]
    return added(known) / len(known) if known else None


def _belongs(run: Mapping[str, Any], group: str) -> bool:
    if run["saturated"]:
        return group == ("saturated_fitted" if run["seen"] == "fitted" else "saturated")
    return group == run["seen"] or (group == "held_out" and run["seen"] != "fitted")
