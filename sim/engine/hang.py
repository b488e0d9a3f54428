"""Why an engine does not move any more: what each request on it waits for, and who has the blocks it needs.

Asked when nothing can happen any more. Two ways to hang are vLLM 0.28.0's own, and said to be:

- *A parked load.* The blocks of a load are taken when it starts, and it cannot be preempted. Its end is
  noticed only when the queue is walked up to it, and the walk stops at the first request that does not fit
  (`Scheduler.schedule`). If that one needs the blocks of loads behind it, and nothing runs, neither moves.
  A preempted request gets in front of such loads when its own copies to the host are still under way as it is
  looked at ("ask later"). Read in 0.28.0's scheduler, and made by vLLM's own people with another model:
  pull request 57841 there, open in September 2026; issue 45388 and pull request 45406 have relatives of it.
- *Zero-progress preemption*, on an engine that decodes for others as kv_both and schedules asynchronously:
  blocks of preempted requests come back a step too late, and what they were generating is dropped.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from sim.base.words import plural
from sim.engine.active import ActiveRequest, Status
from sim.engine.engine import Engine
from sim.kv.hit import NO_HIT

_NAMED = 4
"""So many requests are called by their index, of more only the first."""
_TOO = "hangs, and vLLM 0.28.0 hangs there too"


class Hang(NamedTuple):
    """What is known of an engine that does not move any more."""

    why: str
    """In a sentence, to be read behind the worker's name."""
    waits: dict[int, str]
    """What each request on it waits for, by its index: a kind, a semicolon, and numbers."""


def hang_of(engine: Engine) -> Hang:
    """Return why the requests on an engine, of which there are some, never end."""
    return _livelock(engine) if engine.livelocked else _blocked(engine)


# -- zero-progress preemption ---------------------------------------------------------------------------


def _livelock(engine: Engine) -> Hang:
    pool = _pool_blocks(engine)
    needs = {request.request_id: _whole(engine, request) for request in engine.requests}
    waits = {
        index: "zero-progress preemption: requests preempt each other for ever; "
        f"needs {_kv(need)}, the pool has {pool}"
        for index, need in needs.items()
    }
    turning = sorted(r.request_id for r in engine.requests if r.status is not Status.WAITING)
    total = sum(needs[index] for index in turning)
    hangs, nixl = "hangs", engine.nixl
    for_remote = any(request.for_remote for request in engine.requests)
    if (
        nixl is not None
        and nixl.producer
        and nixl.consumer
        and engine.settings.asynchronous
        and not for_remote
    ):
        hangs = f"{_TOO} (kv_both and asynchronous scheduling; kv_consumer does not)"
    return Hang(
        f"{hangs}: {_names(turning)} preempt each other for ever. Together they need {_kv(total)} of a pool "
        f"of {pool}; the first to need one more preempts all, because blocks come back only with the step "
        "after, and what they were generating is lost",
        waits,
    )


# -- a request that does not fit ------------------------------------------------------------------------


def _blocked(engine: Engine) -> Hang:
    """Say what the first request that the scheduler looks at lacks, and who has it."""
    scheduler = engine.scheduler
    waits: dict[int, str] = {}
    queue = [*scheduler.skipped, *scheduler.waiting]
    under_way = [request for request in queue if _loads(engine, request)]
    for request in under_way:
        waits[request.request_id] = f"its load has not ended; holds {_kv(_held([request]))}"
    looked_at = [request for request in queue if not _loads(engine, request)]
    if not looked_at:
        return Hang("waits for what never comes", waits)
    head, *behind = looked_at
    lacks = _lacks(engine, head)
    holders = _holders(engine, under_way, behind)
    waits[head.request_id] = f"does not fit, {lacks}{_told(holders)}"
    for request in behind:
        waits[request.request_id] = _stands_behind(engine, request, head)
    # Kept by what stands in the queue itself: all else is on its way, or waits for another worker.
    own = bool(holders or head.tables) and all(holder.parked for holder in holders)
    why = f"{_TOO if own else 'hangs'}: request {head.request_id}, the first in its queue, {lacks}"
    return Hang(why + _told(holders) + ("; nothing runs that could free any" if own else ""), waits)


def _stands_behind(engine: Engine, request: ActiveRequest, head: ActiveRequest) -> str:
    need, before = _kv(_whole(engine, request)), f"request {head.request_id} is before it"
    if request.tables:
        held = _kv(_held([request]))
        return f"loaded, but behind a request that does not fit; holds {held}, needs {need} more, {before}"
    return f"behind a request that does not fit; needs {need}, {before}"


def _lacks(engine: Engine, head: ActiveRequest) -> str:
    need, free, pool = _whole(engine, head), engine.cache.pool.free_blocks, _pool_blocks(engine)
    held = f"holds {_kv(_held([head]))} and " if head.tables else ""
    says = f"{held}needs {_kv(need)}{' more' if head.tables else ''}, {free} of {pool} are free"
    reserved = engine.scheduler.reserved_blocks()
    if need <= free and reserved:
        says += f", {reserved} of them reserved for prefills and loads that were admitted before"
    return says


class _Holder(NamedTuple):
    """Some requests that have blocks."""

    blocks: int
    who: str
    parked: bool


def _holders(
    engine: Engine, under_way: Sequence[ActiveRequest], behind: Sequence[ActiveRequest]
) -> list[_Holder]:
    """Return who has blocks besides the first in the queue."""
    kept = list(engine.nixl.held.values()) if engine.nixl is not None else []
    parked = [request for request in behind if request.tables]
    kinds = (
        (under_way, "being loaded"),
        (parked, "loaded, but behind it"),
        (kept, "kept for decode workers to read"),
    )
    return [
        _Holder(_held(requests), f"{_names([r.request_id for r in requests])} ({what})", requests is parked)
        for requests, what in kinds
        if requests
    ]


def _told(holders: Iterable[_Holder]) -> str:
    return "".join(f", {holder.blocks} held by {holder.who}" for holder in holders)


# -- counts ---------------------------------------------------------------------------------------------


def _loads(engine: Engine, request: ActiveRequest) -> bool:
    """Whether a load is under way whose end nobody has reported."""
    return request.status is Status.LOADING and request.request_id not in engine.scheduler.arrived


def _whole(engine: Engine, request: ActiveRequest) -> int:
    """Return the free blocks that a request's known sequence needs beyond what it holds."""
    cache = engine.cache
    hit = NO_HIT if request.tables else cache.lookup(request.block_ids, request.num_tokens)
    return cache.need(request.tables, request.num_tokens, hit) or 0


def _held(requests: Iterable[ActiveRequest]) -> int:
    """Return how many blocks these requests hold, a shared one once."""
    parts = (part for request in requests for table in request.tables for part in table.parts.values())
    return len({*chain.from_iterable(((id(s), at) for at in range(start, stop)) for s, start, stop in parts)})


def _pool_blocks(engine: Engine) -> int:
    """Return the blocks that can be held: all but the null block."""
    return engine.cache.pool.num_blocks - 1


def _kv(blocks: int) -> str:
    return f"{blocks} KV {plural(blocks, 'block')}"


def _names(indices: Sequence[int]) -> str:
    shown = ", ".join(map(str, indices[:_NAMED])) + (", ..." if len(indices) > _NAMED else "")
    return f"{plural(len(indices), 'request')} {shown}"
