"""Formats whose JSON objects are no rows by themselves: a session each, events of several kinds, heads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sim.workload.findings import Findings
from sim.workload.formats.reader import Reader
from sim.workload.request import Answers, Ends


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format of JSON objects, how it is told, and what reads it."""

    name: str
    tells: Callable[[Mapping[str, Any]], bool]
    """Whether a JSON object of a file is one of this format."""
    reader: Callable[[Findings], Reader]
    units_per_s: float
    ends: Ends = "ceil"
    """Whether the last chunk of a prompt has an id: always, if it is full, or never."""
    answers: Answers = "fresh"
