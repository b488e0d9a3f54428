"""Makes runs with an engine, all but those that a journal has."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TypeVar

from sim.base.errors import InputError
from sim.experiments.jobs.engine import Engine
from sim.experiments.jobs.fingerprint import fingerprint
from sim.experiments.jobs.job import Job
from sim.runs.comparison import Comparison
from sim.runs.journal import Journal
from sim.runs.run import Run

AnyRuns = TypeVar("AnyRuns", bound=Comparison)
Runner = Callable[[Sequence[Job]], Sequence[Run]]
"""Makes runs, and returns what each came to, in order."""
OnRun = Callable[[Run], None]
"""Called with every run as it ends."""


def execute(jobs: Sequence[Job], engine: Engine, on_run: OnRun, journal: Journal | None = None) -> list[Run]:
    """Make all runs and return them in order. One that fails becomes a run with an error; the others go on.

    Args:
        jobs: what to run.
        engine: where.
        on_run: called with every run as it ends, those first that the journal has; what it raises ends the
            others.
        journal: runs that are not made again, and where the others are kept as they end.

    """
    keys = [fingerprint(job.scenario) if journal is not None else "" for job in jobs]
    finished: dict[int, Run] = {}
    for place, (job, key) in enumerate(zip(jobs, keys, strict=True)):
        kept = journal.finished(key) if journal is not None else None
        if kept is not None:
            finished[place] = job.done(kept.summary, kept.notes)
            on_run(finished[place])
    left = [place for place in range(len(jobs)) if place not in finished]
    with closing(engine([jobs[place] for place in left])) as outcomes:
        for number, run in outcomes:
            place = left[number]
            finished[place] = run
            if journal is not None:
                journal.add(keys[place], run)
            on_run(run)
    return [finished[place] for place in range(len(jobs))]


def warned(found: AnyRuns) -> AnyRuns:
    """Return runs that were made, after a warning for each that failed.

    Raises:
        InputError: all have failed.

    """
    if len(found.failed) == len(found.runs):
        raise InputError("\n".join(found.failures()))
    for failure in found.failures():
        warnings.warn(failure, stacklevel=3)
    return found
