"""When the client of a measured run wanted to send: for replays whose answers come at other times."""

from collections.abc import Sequence
from dataclasses import replace

from sim.validation.replay.recording import Recording
from sim.workload.request import Trace


def limit_in_flight(recorded: Recording) -> int | None:
    """Return how many requests the client let be in flight at once; None without a limit."""
    return recorded.run.bench.max_concurrency if recorded.run.bench else None


def as_due(recorded: Recording) -> Recording:
    """Return a recording in which every request is due when its client wanted to send it, in that order.

    A client with a limit waits for answers: its requests are due when the trace says. Any other sent when it
    wanted to: its recording is returned as it is.
    """
    if not limit_in_flight(recorded):
        return recorded
    rows = [request.trace for request in recorded.requests]
    return at_times(recorded, [row.timestamp_s or 0.0 if row else 0.0 for row in rows])


def at_times(recorded: Recording, due_s: Sequence[float]) -> Recording:
    """Return a recording whose requests are due at these times, one for each by index; the first at 0."""
    order = sorted(range(len(due_s)), key=lambda index: (due_s[index], recorded.requests[index].row))
    place_of = {index: place for place, index in enumerate(order)}
    sent = [
        replace(recorded.trace.requests[index], index=place, timestamp_s=due_s[index] - due_s[order[0]])
        for index, place in place_of.items()
    ]
    return replace(
        recorded,
        trace=Trace(tuple(sent), recorded.trace.chunk_tokens, recorded.trace.source),
        requests=tuple(recorded.requests[index] for index in order),
        times={place_of[index]: times for index, times in recorded.times.items()},
        ranks={place_of[index]: rank for index, rank in recorded.ranks.items()},
        decode_ranks={place_of[index]: rank for index, rank in recorded.decode_ranks.items()},
    )
