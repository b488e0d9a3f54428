"""When requests came to their engines, and when pulls ended: what no file says, but KV events bound.

Requests that the router sent within milliseconds reach an engine in an order of their own, and some of them
late. What is known is when an engine first stored blocks of a request (`events.stored`):

- A request stood in the queue when the step was planned in which it first stored blocks. It came after the
  output before that was published, else it would have been in that step; and requests of one step were in the
  queue together, in the order of their events.
- On a decode engine the step before admitted it and posted its pull; so it came after the output before.
- A pull had ended when the step was planned that stored its blocks; it had not when the output before was
  published. Pulls of one step had ended together.
- A request that stored nothing came after those that the router had sent to that engine before.

All of this is time: what a request finds in the cache is not looked at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sim.validation.replay.events.stored import EngineLog, Stored


@dataclass(frozen=True, slots=True)
class Queued:
    """A request comes to its engine: in seconds of the replay, and its place among those of that moment."""

    time_s: float
    order: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """A pull into a decode engine; times are seconds of the replay."""

    after_s: float
    """It had not ended before."""
    by_s: float
    """It had ended."""
    together: frozenset[int]
    """Requests whose pulls ended with it: not before the last of them had started."""


@dataclass(frozen=True, slots=True)
class EngineTimes:
    """Requests are known by their index; on a disaggregated cluster they are on two engines each."""

    queued: Mapping[tuple[int, bool], Queued]
    """By request, and whether it is its decode stage."""
    pulled: Mapping[int, Pulled]


NOTHING = EngineTimes({}, {})
"""Of engines without recorded events."""


def engine_times(logs: Iterable[EngineLog], dispatch_s: float) -> EngineTimes:
    """Return what events say; `dispatch_s` is the least that the way to an engine takes."""
    queued: dict[tuple[int, bool], Queued] = {}
    pulled: dict[int, Pulled] = {}
    for log in logs:
        came = {index: begin_s + dispatch_s for index, begin_s in log.engine.begins_s.items()}
        together = _together(log)
        for order, (index, time_s) in enumerate(_in_order(log, came, together)):
            queued[index, log.engine.decode] = Queued(time_s, order)
        if log.engine.decode:
            for time_s, indices in together.items():
                found = Pulled(log.output_before_s(time_s), time_s, frozenset(indices))
                pulled |= dict.fromkeys(indices, found)
    return EngineTimes(queued, pulled)


def _together(log: EngineLog) -> dict[float, dict[int, Stored]]:
    """Return the requests that first stored blocks in the same step, by its time, each with its first."""
    found: dict[float, dict[int, Stored]] = {}
    for index in log.engine.begins_s:
        first = log.first(index)
        if first is not None:
            found.setdefault(first.time_s, {})[index] = first
    return found


def _in_order(
    log: EngineLog, came: Mapping[int, float], together: Mapping[float, Mapping[int, Stored]]
) -> list[tuple[int, float]]:
    """Return requests and the times at which they came, in order."""
    places: dict[int, tuple[float, float]] = {}
    last = (0.0, 0.0)
    for index, time_s in came.items():
        first = log.first(index)
        if first is None:
            place = max((time_s, -0.5), (last[0], last[1] + 0.5))
        else:
            with_s = _last_s(came, together[first.time_s], first, decode=log.engine.decode)
            before_s = log.output_before_s(first.time_s, steps=2 if log.engine.decode else 1)
            place = (max(with_s, before_s), first.order)
        places[index] = place
        last = max(last, place)
    return [(index, places[index][0]) for index in sorted(places, key=lambda index: (places[index], index))]


def _last_s(came: Mapping[int, float], others: Mapping[int, Stored], first: Stored, *, decode: bool) -> float:
    """Return when the last came of those who were there together: on a decode engine of those before only."""
    there = [came[index] for index, stored in others.items() if not decode or stored.order <= first.order]
    return min(max(there), first.time_s)
