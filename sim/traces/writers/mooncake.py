"""Mooncake's JSONL with sessions, delays and timestamps in milliseconds, rows in the order of their times."""

from collections.abc import Sequence

from sim.base.words import exactly
from sim.traces.moments import Place
from sim.traces.writers.writer import Row, Writer, mooncake_row, timed
from sim.workload.request import Request


def _row(request: Request, hash_ids: Sequence[int], place: Place) -> Row:
    row = mooncake_row(timed(request, place), hash_ids, waits=place.before is not None)
    return row if request.tag is None else row | {"tag": request.tag}


WRITER = Writer(
    name="mooncake",
    row=_row,
    carries=frozenset({"turns", "tag"}),
    hint=lambda trace: (
        f"one hash id stands for {exactly(trace.chunk_tokens, 'token')}; in Mooncake's own files for 512"
    ),
)
