"""Blocks are conserved: each is free, held or evictable, and nobody holds one at the end.

Who holds what is read from the tables of requests; the pool's own references and queue are compared with it.
What the caches hold is counted a second time, from their KV events.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sim.base.errors import InvariantError
from sim.engine.engine import Engine
from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part
from sim.kv.groups import Table

RULE = "blocks are conserved"

Levels = list[tuple[int, int, int]]
"""From position, up to position, how many hold it there; neighbours differ."""


class Blocks:
    """The blocks of one worker."""

    def __init__(self, worker: int, every: int) -> None:
        """Look at all of them once in so many times that the worker tells its levels."""
        self._worker = worker
        self._every = every
        self._until_scan = every
        self._stored: Counter[str] = Counter()
        """Blocks in each tier by the events: stored less removed."""

    def events(self, events: Iterable[KvEvent]) -> None:
        """Count what the caches did."""
        for event in events:
            if event.tail:
                continue
            blocks = len(event.blocks)
            self._stored[event.tier] += blocks if event.stored else -blocks

    def lost(self) -> None:
        """The worker's process is no more; what its successor holds begins with nothing."""
        self._stored.clear()

    def levels(self, engine: Engine, now_s: float) -> None:
        """Look at the sums, and now and then at every block."""
        pool, offload = engine.cache.pool, engine.offload
        if not 0 <= pool.free_blocks < pool.num_blocks:
            self._fail(f"{pool.free_blocks} of {pool.num_blocks - 1} blocks are free", now_s)
        for tier in offload.tiers if offload is not None else ():
            if not 0 <= tier.used_blocks <= tier.capacity_blocks:
                detail = f"{tier.used_blocks} of {tier.capacity_blocks} blocks of tier {tier.name} are filled"
                self._fail(detail, now_s)
        self._until_scan -= 1
        if not self._until_scan:
            self._until_scan = self._every
            self.scan(engine, now_s)

    def scan(self, engine: Engine, now_s: float) -> None:
        """Look at every block."""
        pool = engine.cache.pool
        held = hashed = 0
        for extent, holders in _holders(_held(engine)).items():
            self._references(extent, holders, now_s)
            held += sum(stop - start for start, stop, _ in holders)
            hashed += sum(min(stop, extent.end) - min(start, extent.end) for start, stop, _ in holders)
        evictable = sum(stop - start for _, start, stop in pool.evictable())
        hashed -= pool.tail_only_blocks
        blocks = f"{pool.num_blocks - 1} blocks: {pool.plain_blocks} free, {evictable} evictable, {held} held"
        if pool.plain_blocks + evictable + held != pool.num_blocks - 1:
            self._fail(blocks, now_s)
        if pool.free_blocks != pool.plain_blocks + evictable:
            self._fail(f"{blocks}, but {pool.free_blocks} are said to be free", now_s)
        findable = sum(
            (stop - start) * len(copies) for group in pool.cached for start, stop, copies in group.changed()
        )
        if not findable == hashed + evictable == self._stored["device"]:
            told = self._stored["device"]
            detail = f"{findable} blocks are findable, {hashed + evictable} have a hash, {told} by KV events"
            self._fail(detail, now_s)
        self._tiers(engine, now_s)

    def end(self, engine: Engine, now_s: float) -> None:
        """Look at what is left when every request has ended."""
        left = {
            "blocks held": engine.cache.pool.used_blocks,
            "requests": len(engine.requests) + len(engine.scheduler.loading) + len(engine.landing),
            "steps in flight": sum(bool(plan.scheduled) for plan in engine.steps),
            "prompts kept for others": len(engine.nixl.held) if engine.nixl is not None else 0,
            "copies": len(engine.offload.jobs) if engine.offload is not None else 0,
        }
        for what, count in left.items():
            if count:
                self._fail(f"all requests have ended, but {count} {what} are left", now_s)

    def _tiers(self, engine: Engine, now_s: float) -> None:
        offload = engine.offload
        for tier in offload.tiers if offload is not None else ():
            assert offload is not None
            told, first = self._stored[tier.name], tier is offload.tier
            jobs = offload.jobs.values()
            writing = sum(len(job.blocks) for job in jobs if job.writes_to(tier.name, first=first))
            if tier.used_blocks != told + writing:
                detail = f"{tier.used_blocks} blocks of tier {tier.name} are filled, {told} by KV events"
                self._fail(f"{detail}, {writing} are being written", now_s)

    def _references(self, extent: Extent, holders: Levels, now_s: float) -> None:
        """Compare how often blocks are referenced with who holds them; without a hash one request does."""
        counted = [
            (segment.start, segment.stop, segment.references)
            for segment in extent.segments
            if segment.references
        ]
        if holders[-1][1] > extent.end:
            counted.append((extent.end, holders[-1][1], 1))
        if _joined(counted) != holders:
            detail = f"group {extent.group}: blocks are held (from, to, by so many) as {holders}"
            self._fail(f"{detail}, referenced as {_joined(counted)}", now_s)

    def _fail(self, detail: str, now_s: float) -> None:
        raise InvariantError(RULE, detail, worker=self._worker, now_s=now_s)


def _held(engine: Engine) -> Iterator[Part]:
    """Yield what somebody holds: requests, those that are read or written from outside, planned steps."""
    kept = engine.nixl.held.values() if engine.nixl is not None else ()
    for request in (*engine.requests, *engine.landing, *kept):
        yield from _parts(request.tables)
    for plan in engine.steps:
        yield from plan.freed_after


def _parts(tables: Iterable[Table]) -> Iterator[Part]:
    for table in tables:
        yield from table.parts.values()


def _holders(parts: Iterable[Part]) -> dict[Extent, Levels]:
    """Return how many hold each block, by extent."""
    changes: dict[Extent, dict[int, int]] = {}
    for extent, start, stop in parts:
        of_extent = changes.setdefault(extent, {})
        of_extent[start] = of_extent.get(start, 0) + 1
        of_extent[stop] = of_extent.get(stop, 0) - 1
    return {extent: _levels(of_extent) for extent, of_extent in changes.items()}


def _levels(changes: dict[int, int]) -> Levels:
    found: Levels = []
    level = before = 0
    for position in sorted(changes):
        if level:
            found.append((before, position, level))
        level += changes[position]
        before = position
    return _joined(found)


def _joined(levels: Sequence[tuple[int, int, int]]) -> Levels:
    """Make one of neighbours that are equal."""
    found: Levels = []
    for start, stop, level in levels:
        if found and found[-1][1] == start and found[-1][2] == level:
            found[-1] = (found[-1][0], stop, level)
        else:
            found.append((start, stop, level))
    return found
