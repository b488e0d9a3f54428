"""Where runs are made: in processes of this machine, each run in one of them."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import cache

from sim.base.progress import be_quiet
from sim.experiments.jobs.job import Job, attempt
from sim.runs.run import Run

Outcomes = Generator[tuple[int, Run], None, None]
"""The place of every job in its list and what it came to, in the order in which they end."""
Engine = Callable[[Sequence[Job]], Outcomes]
"""Makes runs. Closing what it returns gives up those that have not ended."""

_WATCH_S = 1.0
_LOST = "a process ended abruptly; was it out of memory? try a smaller --jobs"


def local(processes: int | None = None) -> Engine:
    """Return an engine of so many processes, as many as there are cores if not given; 1: this process."""

    def outcomes(jobs: Sequence[Job]) -> Outcomes:
        left = dict(enumerate(jobs))
        if not left:
            return
        # joblib starts a process anew that has grown, and warns of it as if work could be lost.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        # It also warns of those that end early, of which this one's caller tells.
        warnings.filterwarnings("ignore", ".*tasks which were still being processed", UserWarning)
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
        outcomes: Outcomes = pool(
            delayed(_attempt)(place, job, os.getpid()) for place, job in enumerate(jobs)
        )
    return outcomes


def _attempt(place: int, job: Job, caller: int) -> tuple[int, Run]:
    _end_with(caller)
    return place, attempt(job)


@cache
def _end_with(caller: int) -> None:
    """Let this process end soon after the one that started it, which may be killed."""

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(_WATCH_S)
        os._exit(1)

    if os.getpid() != caller:
        be_quiet()
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes start that ignore Ctrl-C. It reaches all of a terminal; this one ends the others.

    Where signals can be blocked, this one hears of a Ctrl-C behind them, so that none is lost meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _blocked(signal.SIGINT):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    """Keep a signal back; it waits, even one that is ignored meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
