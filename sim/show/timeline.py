"""A run as a timeline in Chrome's trace event format, which Perfetto (ui.perfetto.dev) shows.

The router is process 0, worker w is process w + 1. A request takes a slot of its worker from the queue to its
end; a slot is free again for the next one. Inside stand its phases, as far as the table of requests tells
them apart: `waiting` (a load from the CPU tier is part of it), `prefill`, `pull`, `decode`. A phase that ends
with a token ends when the client, or the front door between two stages, has it. Counters are the table of
workers, instants on the router are its choices, and an arrow leads from a prefill to its decode worker.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.results.plain import plain_rows
from sim.results.tables import ROUTER_QUEUE

if TYPE_CHECKING:
    import pandas as pd

Event = dict[str, Any]
"""One trace event; `ts` and `dur` are microseconds of simulated time."""
Values = Mapping[str, Any]

_ROUTER = 0
_DETAILS = (
    "index",
    "prompt_tokens",
    "output_tokens",
    "local_hit_tokens",
    "external_hit_tokens",
    "computed_prompt_tokens",
    "recomputed_tokens",
    "preemptions",
    "ttft_s",
    "e2e_s",
)
"""What a click on a request shows."""


class _Phase(NamedTuple):
    """A part of a request's stay on a worker, in seconds."""

    name: str
    start_s: float
    end_s: float


class _Stay(NamedTuple):
    """A request on a worker, from queue to end."""

    worker: int
    request: Values
    phases: Sequence[_Phase]

    @property
    def start_s(self) -> float:
        """When it reached the queue."""
        return self.phases[0].start_s

    @property
    def end_s(self) -> float:
        """When it left the worker."""
        return self.phases[-1].end_s


def timeline(
    roles: Sequence[str],
    requests: "pd.DataFrame",
    decisions: "pd.DataFrame | None",
    workers: "pd.DataFrame | None",
    end_s: float,
) -> list[Event]:
    """Return the events of a run: names of processes and tracks, then everything in order of time.

    Args:
        roles: what each worker is, such as "decode worker".
        requests, decisions, workers: the tables of the run, None if not kept.
        end_s: the end of the run; what has no end ends there.

    """
    rows = plain_rows(requests)
    stays = [stay for row in rows for stay in _stays(row, end_s)]
    placed = list(zip(stays, _slots(stays), strict=True))
    events = [event for stay, slot in placed for event in _slices(stay, slot)]
    events += _flows(placed)
    choices = [] if decisions is None else plain_rows(decisions[decisions["chosen"].astype(bool)])
    stages = list(dict.fromkeys(choice["leg"] for choice in choices))
    by_index = {row["index"]: row for row in rows}
    events += [_instant(choice, by_index[choice["request"]], stages) for choice in choices]
    events += [] if workers is None else _counters(plain_rows(workers))
    # What contains others begins no later than they do, and is longer.
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
    return [*_names(roles, placed, stages), *events]


def write_events(events: Sequence[Event], file: Path) -> None:
    """Write events as JSON, gzipped if the file's name ends with ".gz"; equal events give equal bytes."""
    lines = ",\n".join(json.dumps(event, allow_nan=False, separators=(",", ":")) for event in events)
    text = f'{{"displayTimeUnit":"ms","traceEvents":[\n{lines}\n]}}\n'.encode("utf-8", "backslashreplace")
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)


def _stays(row: Values, end_s: float) -> Iterator[_Stay]:
    """Yield where a request was."""
    over_s = end_s if row["end_s"] is None else row["end_s"]
    if row["queued_s"] is not None:
        marks = [("waiting", row["queued_s"]), ("prefill", row["first_scheduled_s"])]
        if row["decode_queued_s"] is None:
            marks.append(("decode", row["first_token_s"]))
        left_s = row["prefilled_s"]
        yield _Stay(row["worker"], row, _phases(marks, over_s if left_s is None else left_s))
    if row["decode_queued_s"] is not None:
        marks = [("waiting", row["decode_queued_s"]), ("pull", row["pull_start_s"])]
        started_s = row["first_token_s"] if row["pull_end_s"] is None else row["pull_end_s"]
        yield _Stay(row["decode_worker"], row, _phases([*marks, ("decode", started_s)], over_s))


def _phases(marks: Sequence[tuple[str, float | None]], end_s: float) -> list[_Phase]:
    """Return phases, each up to the start of the next one that began; those of no length only if alone."""
    begun = [(name, start_s) for name, start_s in marks if start_s is not None]
    ends = [start_s for _, start_s in begun[1:]] + [end_s]
    phases = [_Phase(name, start_s, end) for (name, start_s), end in zip(begun, ends, strict=True)]
    return [phase for phase in phases if phase.end_s > phase.start_s] or phases[:1]


def _slots(stays: Sequence[_Stay]) -> list[int]:
    """Return the slot of each stay, from 1: the lowest of its worker that is free when it begins."""
    slots = [0] * len(stays)
    busy: dict[int, list[tuple[float, int]]] = {}
    free: dict[int, list[int]] = {}
    in_order = sorted(range(len(stays)), key=lambda n: (stays[n].start_s, stays[n].request["index"]))
    for place in in_order:
        stay = stays[place]
        taken, left = busy.setdefault(stay.worker, []), free.setdefault(stay.worker, [])
        while taken and taken[0][0] <= stay.start_s:
            heappush(left, heappop(taken)[1])
        slots[place] = heappop(left) if left else len(taken) + 1
        heappush(taken, (stay.end_s, slots[place]))
    return slots


def _slices(stay: _Stay, slot: int) -> Iterator[Event]:
    """Yield the request, and inside of it its phases."""
    details = {name: stay.request[name] for name in _DETAILS}
    if ROUTER_QUEUE.name in stay.request:
        details[ROUTER_QUEUE.name] = stay.request[ROUTER_QUEUE.name]
    yield _slice(stay, slot, _title(stay.request), stay.start_s, stay.end_s) | {"args": details}
    for phase in stay.phases:
        yield _slice(stay, slot, phase.name, phase.start_s, phase.end_s)


def _slice(stay: _Stay, slot: int, name: str, start_s: float, end_s: float) -> Event:
    start, end = _nanoseconds(start_s), _nanoseconds(end_s)
    what = {"ph": "X", "name": name, "cat": "request", "pid": stay.worker + 1, "tid": slot}
    return what | {"ts": start / 1000, "dur": (end - start) / 1000}


def _flows(placed: Sequence[tuple[_Stay, int]]) -> Iterator[Event]:
    """Yield an arrow for each request that went from worker to worker, from inside its first stay."""
    for (source, source_slot), (target, target_slot) in pairwise(placed):
        if source.request is target.request:
            flow = {"name": "KV", "cat": "kv", "id": source.request["index"]}
            leaves = max(_nanoseconds(source.end_s) - 1, _nanoseconds(source.start_s))
            arrives = _nanoseconds(target.start_s)
            yield {"ph": "s", **flow, "ts": leaves / 1000, "pid": source.worker + 1, "tid": source_slot}
            end = {"ph": "f", "bp": "e", **flow, "ts": arrives / 1000}
            yield end | {"pid": target.worker + 1, "tid": target_slot}


def _instant(choice: Values, request: Values, stages: Sequence[str]) -> Event:
    """Return a routing decision, with the terms of who was chosen."""
    return {
        "ph": "i",
        "s": "t",
        "name": f"{_title(request)} to worker {choice['worker']}",
        "cat": "routing",
        "pid": _ROUTER,
        "tid": stages.index(choice["leg"]) + 1,
        "ts": _nanoseconds(choice["now_s"]) / 1000,
        "args": {name: value for name, value in choice.items() if name not in ("chosen", "now_s")},
    }


def _counters(workers: Sequence[Values]) -> Iterator[Event]:
    """Yield the levels of the workers whenever they change."""
    for row in workers:
        levels = {
            "Requests": {"running": row["running"], "waiting": row["waiting"]},
            "KV blocks in use": {"blocks": row["used_blocks"]},
            "CPU tier blocks": {"blocks": row["cpu_used_blocks"]},
        }
        for name, values in levels.items():
            if None not in values.values():
                when = {"ts": _nanoseconds(row["now_s"]) / 1000, "pid": row["worker"] + 1}
                yield {"ph": "C", "name": name, **when, "args": values}


def _names(
    roles: Sequence[str], placed: Sequence[tuple[_Stay, int]], stages: Sequence[str]
) -> Iterator[Event]:
    """Yield what processes and tracks are called, and the order of the processes."""
    for pid, name in enumerate(["router", *(f"{role} {worker}" for worker, role in enumerate(roles))]):
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}}
    tracks = {(stay.worker + 1, slot): f"slot {slot}" for stay, slot in placed}
    tracks |= {(_ROUTER, tid): f"{stage} leg" for tid, stage in enumerate(stages, start=1)}
    for (pid, tid), name in sorted(tracks.items()):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _title(request: Values) -> str:
    return f"{request['session']}:{request['turn']}"


def _nanoseconds(time_s: float) -> int:
    """Return a time in whole nanoseconds, so that what ends with another event ends at the very same time."""
    return round(time_s * 1e9)
