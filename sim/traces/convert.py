"""A trace as a file of another format."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sim.base.whole_file import new_file
from sim.traces.identities import Identities
from sim.traces.losses import losses
from sim.traces.moments import placed
from sim.traces.writers import writer as writer_named
from sim.traces.writers.writer import Row, Writer
from sim.workload.request import Trace

NEW_IDS = (
    "hash ids are new ones, in order of first appearance: some were 2^63 or more, or stood for texts of "
    "several lengths"
)
_PACK_LEVEL = 6


def convert(trace: Trace, out: Path, to: str, *, force: bool = False) -> list[str]:
    """Write a trace to a file; return what the format cannot say of it, a sentence each.

    Args:
        trace: of `load_trace`, `sample`, or a generated one.
        out: the file, gzipped if its name ends in .gz; whole or not at all.
        to: "mooncake", "timed_trace", "dynamo" or "agentic_mooncake".
        force: whether it may replace a file that is there.

    Raises:
        InputError: no such format, or no file can be made there; it exists and `force` is not given.

    """
    target = writer_named(to)
    with new_file(out, replace=force) as file:
        return write_trace(trace, file, target, packed=out.suffix == ".gz")


def write_trace(trace: Trace, file: Path, target: Writer, *, packed: bool) -> list[str]:
    """Write a trace into a file; return what the format cannot say of it, a sentence each."""
    identities = Identities(trace)
    with file.open("wb") as raw:
        if packed:
            # Without a name and a time in it, equal traces give equal bytes.
            with gzip.GzipFile("", "wb", _PACK_LEVEL, raw, mtime=0) as lines:
                _write(trace, target, identities, lines)
        else:
            _write(trace, target, identities, raw)
    return [*losses(trace, target), *([NEW_IDS] if identities.renumbered else [])]


def _write(trace: Trace, target: Writer, identities: Identities, lines: "BinaryIO | gzip.GzipFile") -> None:
    for row in rows(trace, target, identities):
        lines.write(json.dumps(row).encode() + b"\n")


def rows(trace: Trace, target: Writer, identities: Identities) -> Iterator[Row]:
    """Yield the rows of a trace in a format, one a request, in the order of the trace."""
    for request, place in placed(trace):
        yield target.row(request, identities.of(request.chunks, request.prompt_tokens), place)
