"""What a format of files is that a trace can be written in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sim.traces.moments import Place
from sim.workload.request import Request, Trace

Row = Mapping[str, Any]
Carried = Literal["turns", "waits", "priority", "tag"]
"""What rows of some formats can say: which are the turns of a session and how long it thinks between them;
which requests one waits for; how urgent it is; of which kind."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A format: its name, what a row of it holds, and how a file of it is run."""

    name: str
    row: Callable[[Request, Sequence[int], Place], Row]
    """The row of a request, given its hash ids."""
    carries: frozenset[Carried]
    hint: Callable[[Trace], str]
    """What has to be said beside a file, to whoever reads it."""


def milliseconds(seconds: float) -> float | int:
    """Return a time in milliseconds, to the nanosecond: a whole number where it is one."""
    ms = round(seconds * 1e3, 6)
    return int(ms) if ms.is_integer() else ms


def timed(request: Request, place: Place) -> Request:
    """Return a request, with a timestamp if it begins a session: nothing but that starts a row there."""
    if place.before is not None or request.timestamp_s is not None:
        return request
    return replace(request, timestamp_s=place.moment_s)


def mooncake_row(request: Request, hash_ids: Sequence[int], *, waits: bool) -> dict[str, Any]:
    """Return Mooncake's keys with those that Dynamo has for sessions; times in milliseconds.

    `waits`: whether the row waits for another one, so that a delay has a meaning.
    """
    row: dict[str, Any] = {"session_id": request.session}
    if request.timestamp_s is not None:
        row["timestamp"] = milliseconds(request.timestamp_s)
    if request.delay_s is not None and waits:
        row["delay"] = milliseconds(request.delay_s)
    return row | {
        "input_length": request.prompt_tokens,
        "output_length": request.output_tokens,
        "hash_ids": hash_ids,
    }


def dynamo_row(request: Request, hash_ids: Sequence[int], *, waits: bool) -> dict[str, Any]:
    """Return the same with a name of the request, and how urgent it is."""
    row = {"request_id": f"r{request.index}", **mooncake_row(request, hash_ids, waits=waits)}
    said = {
        "priority": request.priority,
        "strict_priority": request.strict_priority,
        "policy_class": request.policy_class,
    }
    return row | {key: value for key, value in said.items() if value}
