"""What a person reads after a trace was written to a file."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base.errors import escaped
from sim.base.words import counted
from sim.show.text.page_parts import footnotes
from sim.traces.writers.writer import Writer
from sim.workload.request import Trace


def render_written(
    trace: Trace, out: Path, target: Writer, lost: Sequence[str], also: Sequence[str] = ()
) -> RenderableType:
    """Return what is in a file, what is `lost`, and how to run it, ready to print."""
    requests, sessions = len(trace.requests), len(trace.sessions)
    counts = (
        f"{counted(requests, 'request')}, {counted(sessions, 'session')} of {trace.source}, as {target.name}"
    )
    said = [*also, target.hint(trace), *trace.notes]
    return Group(
        Text(escaped(f"{out}: {counts}")), footnotes(said, warnings=[f"lost: {what}" for what in lost])
    )
