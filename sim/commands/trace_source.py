"""The trace that a command names: paths, and keys of `[workload]` that say how to read it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.base.errors import InputError

if TYPE_CHECKING:
    from sim.traces.inspection import Inspection
    from sim.workload.request import Trace

TracePath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A trace: a file, a folder, a pattern of names, - for standard input."
    ),
]
TracePaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...", help="A trace: files, a folder, a pattern of names, - for standard input."
    ),
]
AsFormat = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help="Format to read it as; told by its content if absent.")
]
TraceKeys = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A key of section workload that says how to read it: workload.chunk_tokens=512. Repeatable.",
    ),
]


def load(paths: Sequence[Path], as_format: str, overrides: Sequence[str]) -> "Trace":
    """Return the trace at a path, or at several.

    Raises:
        InputError: it cannot be read, or an option cannot be what it is.

    """
    return _load(paths, _keys(as_format, overrides))


def look_at(paths: Sequence[Path], as_format: str, overrides: Sequence[str]) -> "Inspection":
    """Return what a trace is; raises as `load` does."""
    from sim.traces.inspection import inspect
    from sim.traces.provider import both_identities
    from sim.workload.formats import FORMATS
    from sim.workload.formats.log import LogFormat

    keys = _keys(as_format, overrides)
    trace = _load(paths, keys)
    found = FORMATS[trace.format or "auto"]
    unit_s = None if isinstance(found, LogFormat) else (keys.get("sec_multiplier") or 1) / found.units_per_s
    return inspect(trace, both_identities(trace, paths), time_unit_s=unit_s)


def _load(paths: Sequence[Path], keys: dict[str, Any]) -> "Trace":
    from sim.workload.trace_file import load_trace

    return load_trace(paths[0] if len(paths) == 1 else paths, **keys)


def _keys(as_format: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Return what `load_trace` is given beside a path; it has defaults of its own."""
    from inspect import signature

    from pydantic import ValidationError

    from sim.base.messages import first_problem
    from sim.scenario.overrides import parse_override
    from sim.scenario.scenario import scenario_schema
    from sim.workload.settings import WorkloadSettings
    from sim.workload.trace_file import load_trace

    names = [name for name in signature(load_trace).parameters if name != "path"]
    given: dict[str, Any] = {"path": "-", "format": as_format}
    for text in overrides:
        override = parse_override(text, None)
        if override.path[:1] != ("workload",):
            raise InputError(f"--set {text}: only keys of [workload] say how a trace is read")
        parse_override(text, scenario_schema())
        if override.path[1] not in names:
            raise InputError(f"--set {text}: does not say how a trace is read (known: {', '.join(names)})")
        given[override.path[1]] = override.value
    try:
        settings = WorkloadSettings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"workload.{first_problem(error)}") from error
    return {name: getattr(settings, name) for name in names if name in given}
