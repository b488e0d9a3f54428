"""Processes for runs, and Ctrl-C while they start."""

import subprocess
import sys

SCRIPT = """
import signal
from sim.experiments.jobs.processes import _deaf_to_ctrl_c

said = []
try:
    with _deaf_to_ctrl_c():
        signal.raise_signal(signal.SIGINT)
        said.append("processes have started")
except KeyboardInterrupt:
    said.append("stopped")
print(*said, sep=", ")
"""


def test_a_ctrl_c_while_processes_start_is_heard_behind_them() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert told.stdout == "processes have started, stopped\n"
