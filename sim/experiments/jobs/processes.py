"""Processes of this machine that call a function: as many as there are cores, each with one thread."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from sim.base.progress import be_quiet

_WATCH_S = 1.0
Given = TypeVar("Given")
Found = TypeVar("Found")


def in_processes(
    function: Callable[[Given], Found], given: Sequence[Given], processes: int | None = None
) -> Generator[tuple[int, Found], None, None]:
    """Yield what a function returns for each of several things, with its place, in the order of their ends.

    Args:
        function: of a module, so that other processes find it.
        given: what it is called with.
        processes: as many as there are cores for this process if None (its affinity and the CPU limit of its
            control group count); 1: this process.

    """
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415 - slow to import

    # joblib starts a process anew that has grown, and warns of it as if work could be lost.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    # It also warns of those that end early, of which this one's caller tells.
    warnings.filterwarnings("ignore", ".*tasks which were still being processed", UserWarning)
    n_jobs = n_processes(processes, len(given))
    # Processes that fill the cores have none for threads of linear algebra.
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    with _deaf_to_ctrl_c():
        found: Generator[tuple[int, Found], None, None] = pool(
            delayed(_call)(function, place, each, os.getpid()) for place, each in enumerate(given)
        )
    return found


def n_processes(asked: int | None, tasks: int) -> int:
    """Return how many processes share some tasks."""
    from joblib import cpu_count  # noqa: PLC0415

    most: int = asked or cpu_count()
    return max(1, min(most, tasks))


def _call(function: Callable[[Any], Found], place: int, given: Any, caller: int) -> tuple[int, Found]:
    _end_with(caller)
    return place, function(given)


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
