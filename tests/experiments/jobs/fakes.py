"""Runs that need no simulator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim.experiments.jobs.engine import Engine, Outcomes
from sim.experiments.jobs.job import Job
from sim.runs.run import Run

Summary = Callable[[Job], Mapping[str, Any]]


def fake_engine(summary: Summary, ran: list[Job] | None = None) -> Engine:
    """An engine that makes a summary of each job, and notes the jobs it was given."""

    def outcomes(jobs: Sequence[Job]) -> Outcomes:
        for place, job in enumerate(jobs):
            if ran is not None:
                ran.append(job)
            yield place, job.done(summary(job), ["a note"])

    return outcomes


def fake_runner(summary: Summary, ran: list[Job] | None = None) -> Callable[[Sequence[Job]], list[Run]]:
    """A runner of the same kind."""
    engine = fake_engine(summary, ran)
    return lambda jobs: [run for _, run in engine(jobs)]
