"""Processes: how many there are, and that each has one thread for linear algebra."""

import os
import subprocess
import sys

import pytest

from sim.experiments.jobs.processes import in_processes, n_processes


def threads(name: str) -> tuple[int, str]:
    return os.getpid(), os.environ.get(name, "")


def test_each_process_has_one_thread_and_places_are_those_of_what_was_given() -> None:
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    found = dict(in_processes(threads, names, 2))
    assert sorted(found) == [0, 1, 2]
    assert {count for _, count in found.values()} == {"1"}
    assert os.getpid() not in {pid for pid, _ in found.values()}


def test_one_process_is_this_one() -> None:
    assert list(in_processes(abs, [-1, 2, -3], 1)) == [(0, 1), (1, 2), (2, 3)]
    assert list(in_processes(abs, [], 3)) == []


def test_there_are_no_more_processes_than_tasks() -> None:
    assert [n_processes(5, tasks) for tasks in (0, 1, 3, 9)] == [1, 1, 3, 5]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_cores_that_this_process_may_not_use_do_not_count() -> None:
    script = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from sim.experiments.jobs.processes import n_processes; print(n_processes(None, 9))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"
