"""Dynamo's `agentic_mooncake`: every request says which others must have ended before it.

A row without `wait_for` leaves at its timestamp, another one `delay` after the last of those it waits for
(Dynamo 1.4.2; offline, aggregated workers, no `--replay-concurrency`).
"""

from collections.abc import Sequence

from sim.traces.moments import Place
from sim.traces.writers.writer import Row, Writer, dynamo_row
from sim.workload.request import Request


def _row(request: Request, hash_ids: Sequence[int], place: Place) -> Row:
    waits_for = request.waits_for or (() if place.before is None else (place.before,))
    row = dynamo_row(request, hash_ids, waits=bool(waits_for))
    return row | ({"wait_for": [f"r{other}" for other in waits_for]} if waits_for else {})


WRITER = Writer(
    name="agentic_mooncake",
    row=_row,
    carries=frozenset({"turns", "priority", "waits"}),
    hint=lambda trace: (
        "Dynamo's replay takes it with --trace-format agentic_mooncake "
        f"--trace-block-size {trace.chunk_tokens}"
    ),
)
