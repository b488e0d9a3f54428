"""What a cluster serves before the measured part of a replay, so that its caches are warm.

Warm-up requests go through the cluster as all others do, and nothing is placed by hand: what is cached after
them is what the engines keep, on every tier and in every group of blocks, and routers know it from events. A
rule of our own for that would be a second engine, and wrong where the first one evicts.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.words import exactly, plural
from sim.workload.groups import session_groups
from sim.workload.request import Request, Trace
from sim.workload.settings import ReplaySettings
from sim.workload.shared_prefixes import SharedPrefixes


class WarmPart(NamedTuple):
    """What is served before, until nothing of it is under way."""

    trace: Trace
    """Its requests, which come behind those of the measured trace by index."""
    settings: ReplaySettings
    """How they are sent."""
    spread: bool
    """Whether each goes to the next worker, instead of where the router sends it."""
    says: str
    """What it is."""


def warm_parts(trace: Trace, settings: ReplaySettings) -> list[WarmPart]:
    """Return what is served before a trace, in order; nothing if caches start empty.

    Raises:
        InputError: a smaller run is to have more sessions than there are.

    """
    if settings.smaller_runs:
        return _smaller_runs(trace, settings)
    if settings.warm_start is None:
        return []
    spread = settings.warm_placement == "spread"
    how = "each on the next worker in turn" if spread else "sent at once, where the router chose"
    if settings.warm_start == "first-contexts":
        requests = _first_contexts(trace)
        what = f"{len(requests):,} first {plural(len(requests), 'context')} of sessions"
    else:
        requests = _shared_prefixes(trace)
        what = f"{len(requests):,} {'prefix' if len(requests) == 1 else 'prefixes'} that two sessions share"
    part = replace(trace, requests=requests, lines=(), notes=(), in_file=None)
    return [WarmPart(part, ReplaySettings(client="open-loop"), spread, f"{what}, {how}")]


def _first_contexts(trace: Trace) -> Sequence[Request]:
    """Return the first prompt of each session, each with an answer of one token."""
    seen: set[str] = set()
    found: list[Request] = []
    for request in trace.requests:
        if request.session not in seen:
            seen.add(request.session)
            index = trace.first_index + len(trace.requests) + len(found)
            found.append(_warm(index, request.session, request.prompt_tokens, request.chunks))
    return found


def _shared_prefixes(trace: Trace) -> Sequence[Request]:
    """Return a prompt for each prefix that two sessions share and that is part of no longer such one."""
    numbers: dict[str, int] = {}

    def prompts() -> Iterable[tuple[int, Sequence[int], int]]:
        for request in trace.requests:
            owner = numbers.setdefault(request.session, len(numbers))
            yield owner, request.chunks, request.prompt_tokens

    first, size = trace.first_index + len(trace.requests), trace.chunk_tokens
    prefixes = SharedPrefixes(prompts(), size).longest()
    return [
        _warm(first + number, f"prefix {number}", len(prefix) * size, prefix)
        for number, prefix in enumerate(prefixes)
    ]


def _warm(index: int, session: str, prompt_tokens: int, chunks: Sequence[int]) -> Request:
    return Request(index, f"{session} (warm-up)", 0, 0.0, None, prompt_tokens, 1, chunks)


def _smaller_runs(trace: Trace, settings: ReplaySettings) -> list[WarmPart]:
    runs = settings.smaller_runs
    groups = session_groups(trace)
    if max(runs) > len(groups):
        raise InputError(
            f"replay.warm_sessions = {max(runs)}: {trace.source} has {exactly(len(groups), 'session')}"
        )
    parts: list[WarmPart] = []
    first = trace.first_index + len(trace.requests)
    for number, n in enumerate(runs, start=1):
        part = _first_sessions(trace, groups[:n], f" (run {number})", first)
        lanes = None if settings.lanes is None else min(settings.lanes, n)
        unset = ("warm_start", "warm_sessions", "warm_up_requests", "warm_up_s", "duration_s", "at_end")
        own = settings.model_copy(update={**dict.fromkeys(unset), "lanes": lanes})
        n_requests = len(part.requests)
        says = f"a run of the first {exactly(n, 'session')}, {exactly(n_requests, 'request')}"
        parts.append(WarmPart(part, own, False, says))
        first += n_requests
    return parts


def _first_sessions(trace: Trace, groups: "Sequence[array[int]]", suffix: str, first: int) -> Trace:
    """Return the requests of sessions with their sub-agents, numbered from `first`."""
    chosen = [trace.requests[place] for place in sorted(chain.from_iterable(groups))]
    numbers = {request.index: first + place for place, request in enumerate(chosen)}
    renamed = tuple(_renumbered(request, numbers, suffix) for request in chosen)
    return replace(trace, requests=renamed, lines=(), notes=(), in_file=None)


def _renumbered(request: Request, numbers: dict[int, int], suffix: str) -> Request:
    answer = request.answer
    if answer is not None:
        answer = None if answer.request not in numbers else answer._replace(request=numbers[answer.request])
    return replace(
        request,
        index=numbers[request.index],
        session=request.session + suffix,
        waits_for=tuple(numbers[other] for other in request.waits_for),
        answer=answer,
    )
