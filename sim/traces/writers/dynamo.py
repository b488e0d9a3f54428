"""The rows that Dynamo's offline replay takes as `--trace-format mooncake`: sessions in a closed loop.

Mooncake's keys, and `session_id`, `delay`, `request_id`, `priority` (Dynamo 1.4.2 and 1.5.0). Dynamo waits
for the difference of two timestamps where a later turn has no delay.
"""

from sim.traces.writers.writer import Writer, dynamo_row, timed

WRITER = Writer(
    name="dynamo",
    row=lambda request, hash_ids, place: dynamo_row(
        timed(request, place), hash_ids, waits=place.before is not None
    ),
    carries=frozenset({"turns", "priority"}),
    hint=lambda trace: f"Dynamo's replay takes it with --trace-block-size {trace.chunk_tokens}",
)
