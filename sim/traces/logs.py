"""Logs that agents leave on a machine: where they are, and what of their names may go into a file."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from sim.base.errors import InputError, shown
from sim.base.messages import did_you_mean
from sim.workload import formats
from sim.workload.formats.log import LogFormat
from sim.workload.request import Trace


def log_names() -> list[str]:
    """Return the formats that are logs."""
    return [name for name, found in formats.FORMATS.items() if isinstance(found, LogFormat)]


def folders_of(log: str, given: Sequence[Path]) -> list[Path]:
    """Return the given folders of a log or, if there are none, those that its agent writes to.

    Raises:
        InputError: no such log, or no folder.

    """
    if log not in log_names():
        raise InputError(f"{shown(log)}: no log of this name is read{did_you_mean(log, log_names())}")
    if given:
        return [*given]
    module = import_module(f"{formats.__name__}.{log.replace('-', '_')}")
    usual = getattr(module, "default_roots", None)
    if usual is None:
        raise InputError(f"{log}: is written to no usual place; give its folders or files")
    if not (found := usual()):
        raise InputError(f"{log}: nothing is where it usually writes; give its folders or files")
    return [*found]


def without_folders(trace: Trace) -> Trace:
    """Return a trace in whose sessions' names no folder of a user is told: projects are numbered.

    Claude Code names a project's folder after its path, with "-" at the beginning and for every separator.
    """
    numbers: dict[str, int] = {}

    def named(session: str) -> str:
        return "/".join(
            f"project-{numbers.setdefault(part, len(numbers))}" if part.startswith("-") else part
            for part in session.split("/")
        )

    names = {session: named(session) for session in trace.sessions}
    if not numbers:
        return trace
    requests = [replace(request, session=names[request.session]) for request in trace.requests]
    return replace(trace, requests=requests)
