"""Where runs are made: in processes of this machine, each run in one of them."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

from sim.experiments.jobs.job import Job, attempt
from sim.experiments.jobs.processes import in_processes
from sim.runs.run import Run

Outcomes = Generator[tuple[int, Run], None, None]
"""The place of every job in its list and what it came to, in the order in which they end."""
Engine = Callable[[Sequence[Job]], Outcomes]
"""Makes runs. Closing what it returns gives up those that have not ended."""

_LOST = "a process ended abruptly; was it out of memory? try a smaller --jobs"


def local(processes: int | None = None) -> Engine:
    """Return an engine of so many processes, as many as there are cores if not given; 1: this process."""

    def outcomes(jobs: Sequence[Job]) -> Outcomes:
        left = dict(enumerate(jobs))
        if not left:
            return
        try:
            with closing(in_processes(attempt, jobs, processes)) as ended:
                for place, run in ended:
                    del left[place]
                    yield place, run
        except BrokenProcessPool:
            for place, job in left.items():
                yield place, job.done(None, error=_LOST)

    return outcomes
