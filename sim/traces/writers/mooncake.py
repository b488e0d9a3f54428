"""Mooncake's JSONL with sessions, delays and timestamps in milliseconds, rows in the order of their times."""

from sim.traces.writers.writer import Writer, mooncake_row, timed

WRITER = Writer(
    name="mooncake",
    row=lambda request, hash_ids, place: mooncake_row(
        timed(request, place), hash_ids, waits=place.before is not None
    ),
    carries=frozenset({"turns"}),
    hint=lambda trace: f"one hash id stands for {trace.chunk_tokens} tokens; in Mooncake's own files for 512",
)
