"""What each engine of a recorded run served: its requests, and when they were sent to it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.validation.replay.recording import Recording, pools


@dataclass(frozen=True, slots=True)
class RecordedEngine:
    """One engine, and the requests whose prompt or, `decode`, whose answer it computed."""

    worker: str
    decode: bool
    begins_s: Mapping[int, float]
    """When the router chose the engine for a request, by index, in seconds of the replay, ascending."""
    ends_s: Mapping[int, float]
    """When the engine's answer had been seen: of requests with recorded times."""


def recorded_engines(recorded: Recording) -> list[RecordedEngine]:
    """Return the engines of a run, the decode engines last."""
    first, decode = pools(recorded.run)
    found = []
    for rank, worker in enumerate(first):
        mine = [index for index, taken in recorded.ranks.items() if taken == rank]
        begins_s = {index: recorded.trace.requests[index].timestamp_s or 0.0 for index in mine}
        found.append(
            RecordedEngine(worker.name, False, _ascending(begins_s), _ends_s(recorded, mine, decode=False))
        )
    for rank, worker in enumerate(decode):
        mine = [index for index, taken in recorded.decode_ranks.items() if taken == rank]
        begins_s = {
            index: prefilled_s
            for index in mine
            if (times := recorded.times.get(index)) and (prefilled_s := times.prefilled_s) is not None
        }
        found.append(
            RecordedEngine(worker.name, True, _ascending(begins_s), _ends_s(recorded, mine, decode=True))
        )
    return found


def _ascending(times_s: Mapping[int, float]) -> dict[int, float]:
    return dict(sorted(times_s.items(), key=lambda item: (item[1], item[0])))


def _ends_s(recorded: Recording, requests: list[int], *, decode: bool) -> dict[int, float]:
    times = {index: recorded.times[index] for index in requests if index in recorded.times}
    if decode:
        return {index: seen.end_s for index, seen in times.items()}
    return {
        index: seen.end_s if seen.prefilled_s is None else seen.prefilled_s for index, seen in times.items()
    }
