"""Runs that tell what other routing would hit of the same prompts: see `sim.results.bounds`.

What is replaced is the policy that places prompts: of a disaggregated cluster the prefill pool's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.progress import count_bar
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.execute import execute
from sim.experiments.jobs.job import Job
from sim.results.bounds import BOUNDS, bounds_of
from sim.runs.run import Run
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.simulation.result import RunResult


class BoundJob(NamedTuple):
    """A run to make for the bounds of another one."""

    place: int
    """That one's, among the jobs that were given."""
    policy: str
    job: Job


def bound_jobs(jobs: Sequence[Job]) -> list[BoundJob]:
    """Return the further runs that the bounds of these take; a run of such a policy is its own bound.

    Raises:
        InputError: a scenario cannot run under such a policy.

    """
    return [
        BoundJob(place, policy, replace(job, scenario=_under(job, policy)))
        for place, job in enumerate(jobs)
        for policy in BOUNDS
        if policy != _own(job.scenario)
    ]


def _own(scenario: Scenario) -> str:
    """Return the policy that places prompts."""
    router = scenario.router
    return (scenario.workers.decode and router.prefill_policy) or router.policy


def _under(job: Job, policy: str) -> Scenario:
    key = "prefill_policy" if job.scenario.workers.decode else "policy"
    try:
        return load_scenario(job.scenario, [f"router.{key}={policy}"])
    except InputError as error:
        raise InputError(f"--bounds: {job.name} under {policy}: {error}") from error


def with_bounds(
    jobs: Sequence[Job], runs: Sequence[Run], asked: Sequence[BoundJob], found: Sequence[Run]
) -> list[Run]:
    """Return the runs of jobs with their bounds, from what was asked for and came of it.

    One that failed stays as it is.
    """
    others: list[dict[str, Run]] = [{_own(job.scenario): run} for job, run in zip(jobs, runs, strict=True)]
    for bound, run in zip(asked, found, strict=True):
        others[bound.place][bound.policy] = run
    return [_joined(run, by_policy) for run, by_policy in zip(runs, others, strict=True)]


def bounded(result: RunResult, processes: int | None = None) -> RunResult:
    """Return a result with its bounds, after the further runs that they take, so many at a time.

    Raises:
        InputError: the scenario cannot run under such a policy.

    """
    job = Job(result.name, result.scenario, result.scenario.to_dict(), {})
    asked = bound_jobs([job])
    with count_bar("bounds", len(asked)) as on_one_more:
        found = execute([bound.job for bound in asked], local(processes), lambda _: on_one_more())
    (run,) = with_bounds([job], [job.done(result.to_dict(), result.notes)], asked, found)
    return RunResult(result.name, result.scenario, run.summary or {}, result.rows)


def _joined(run: Run, by_policy: Mapping[str, Run]) -> Run:
    if run.summary is None:
        return run
    failed = {policy: other.error for policy, other in by_policy.items() if other.error}
    lost = [f"bounds: no run under {policy}: {error}" for policy, error in failed.items()]
    bounds = bounds_of({policy: other.summary for policy, other in by_policy.items()})
    notes = [*run.notes, *lost]
    return replace(run, summary={**run.summary, "notes": notes, "bounds": bounds}, notes=notes)
