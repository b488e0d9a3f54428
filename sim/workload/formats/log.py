"""Formats that are logs, of one file or many, and no rows with hash ids: what reads one finds its calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.request import Answers


@dataclass(frozen=True, slots=True)
class LogFormat:
    """A format of logs: its name, how it is told, and what reads it."""

    name: str
    tells: Callable[[Mapping[str, Any]], bool]
    """Whether a JSON object of a file is one of this format."""
    calls: Callable[[Sequence[Path], Findings], list[Call]]
    """The calls of files that belong together, each after those it refers to; what was done is in findings.

    Raises InputError: names file, line, and what is wrong.
    """
    answers: Answers = "returned"
    """How the traffic was."""
