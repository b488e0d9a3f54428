"""The trace that a command names: a path, and keys of `[workload]` that say how to read it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.base.errors import InputError

if TYPE_CHECKING:
    from sim.traces.inspection import Inspection
    from sim.workload.request import Trace
    from sim.workload.settings import WorkloadSettings

TracePath = Annotated[
    Path, typer.Argument(metavar="PATH", help="A trace: see docs/traces.md for the formats.")
]
AsFormat = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help="Format to read it as; told by its content if absent.")
]
TraceKeys = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A key of [workload] that says how to read it: workload.chunk_tokens=512. Repeatable.",
    ),
]


def load(path: Path, as_format: str, overrides: Sequence[str]) -> "Trace":
    """Return the trace at a path.

    Raises:
        InputError: it cannot be read, or an option cannot be what it is.

    """
    from sim.workload.load import load_workload

    return load_workload(_settings(path, as_format, overrides), 0, Path())


def look_at(path: Path, as_format: str, overrides: Sequence[str]) -> "Inspection":
    """Return what the trace at a path is; raises as `load` does."""
    from sim.traces.inspection import inspect
    from sim.traces.provider import both_identities
    from sim.workload.formats import FORMATS
    from sim.workload.formats.row import RowFormat
    from sim.workload.load import load_workload

    settings = _settings(path, as_format, overrides)
    trace = load_workload(settings, 0, Path())
    found = FORMATS.get(trace.format or "")
    unit_s = (settings.sec_multiplier or 1) / found.units_per_s if isinstance(found, RowFormat) else None
    return inspect(trace, both_identities(trace, [path]), time_unit_s=unit_s)


def load_log(log: str, paths: Sequence[Path], overrides: Sequence[str]) -> "Trace":
    """Return the trace of a log in these folders; raises as `load` does."""
    from sim.workload.trace_file import load_trace

    for path in paths:
        settings = _settings(path, log, overrides)
    return load_trace(
        paths,
        format=log,
        chunk_tokens=settings.chunk_tokens,
        sessions=settings.sessions,
        identity=settings.identity,
        break_prefix=settings.break_prefix,
    )


def _settings(path: Path, as_format: str, overrides: Sequence[str]) -> "WorkloadSettings":
    from pydantic import ValidationError

    from sim.base.messages import first_problem
    from sim.scenario.overrides import parse_override
    from sim.scenario.scenario import scenario_schema
    from sim.workload.formats.sniff import why_no_trace
    from sim.workload.settings import NOT_BESIDE, WorkloadSettings

    allowed = {*WorkloadSettings.model_fields} - NOT_BESIDE["path"] - {"path"}
    given: dict[str, Any] = {"path": path, "format": as_format}
    for text in overrides:
        override = parse_override(text, None)
        if override.path[:1] != ("workload",):
            raise InputError(f"--set {text}: only keys of [workload] say how a trace is read")
        parse_override(text, scenario_schema())
        if override.path[1] not in allowed:
            raise InputError(f"--set {text}: has no meaning for a file")
        given[override.path[1]] = override.value
    try:
        settings = WorkloadSettings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"workload.{first_problem(error)}") from error
    if (reason := why_no_trace(path)) is not None:
        raise InputError(f"{reason}")
    return settings
