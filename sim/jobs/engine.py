"""Where runs are made: in processes of this machine, each run in one of them."""

import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager

from sim.jobs.job import Job, attempt
from sim.results.compared import Run

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
            with closing(_in_processes(jobs, processes)) as ended:
                for place, run in ended:
                    del left[place]
                    yield place, run
        except BrokenProcessPool:
            for place, job in left.items():
                yield place, job.done(None, error=_LOST)

    return outcomes


def _in_processes(jobs: Sequence[Job], processes: int | None) -> Outcomes:
    from joblib import Parallel, cpu_count, delayed  # noqa: PLC0415 - slow to import

    n_jobs = min(processes or cpu_count(), len(jobs))
    pool = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    with _deaf_to_ctrl_c():
        outcomes: Outcomes = pool(delayed(_attempt)(*numbered) for numbered in enumerate(jobs))
    return outcomes


def _attempt(place: int, job: Job) -> tuple[int, Run]:
    return place, attempt(job)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes start that ignore Ctrl-C. It reaches all of a terminal; this one ends the others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
