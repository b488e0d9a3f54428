"""The router's index is what the KV events that it heard of come to, block by block."""

from collections.abc import Iterable, Sequence

from sim.base.errors import InvariantError
from sim.cluster.checks.predictions import Predictions
from sim.cluster.pool import Pool
from sim.cluster.replica import Replica
from sim.cluster.request_state import RequestState
from sim.kv.events import KvEvent
from sim.kv.runs import BlockRuns, runs_of
from sim.router import Decision, Query, Tier
from sim.router.columns import entries
from sim.router.index import Overlap

RULE = "the index is the fold of its events"
TIERS: tuple[Tier, ...] = ("device", "host", "disk")


class Shelf:
    """One tier of one rank: the blocks it has, with their copies, and which ones the index is to have."""

    def __init__(self, *, needs_parent: bool) -> None:
        self._needs_parent = needs_parent
        self._held: set[int] = set()
        self._spare: dict[int, int] = {}
        """Copies beside the first."""
        self.indexed: set[int] = set()

    def forget(self) -> None:
        """Its rank is gone, and all copies."""
        self._held.clear()
        self._spare.clear()
        self.indexed.clear()

    def hear(self, event: KvEvent) -> None:
        """Take in an event."""
        if not event.stored:
            for run in runs_of(event.blocks):
                self._remove(run)
            return
        parent = event.parent
        counts = parent is None or not self._needs_parent or parent in self.indexed
        for run in runs_of(event.blocks):
            if not self._held.isdisjoint(run):
                for block in self._held.intersection(run):
                    self._spare[block] = self._spare.get(block, 0) + 1
            self._held.update(run)
            if counts:
                self.indexed.update(run)

    def _remove(self, run: range) -> None:
        gone: Iterable[int] = run
        if self._spare:
            gone = [block for block in run if block not in self._spare]
            for block in run:
                copies = self._spare.pop(block, 0)
                if copies > 1:
                    self._spare[block] = copies - 1
        self._held.difference_update(gone)
        self.indexed.difference_update(gone)


class Index:
    """What one router of a pool heard of the caches of its ranks."""

    def __init__(
        self, pool: Pool, replica: Replica, every: int, predicted_ttl_s: float | None = None
    ) -> None:
        """Look at every candidate of one decision in `every`; the router predicts for so long, or not."""
        self._pool = pool
        self._replica = replica
        self._every = every
        self._until_look = every
        self._shelves = [{tier: Shelf(needs_parent=tier == "device") for tier in TIERS} for _ in pool.members]
        self._predictions = Predictions(len(pool.members), predicted_ttl_s)
        self.sent = 0
        """Messages of events that workers have sent to this router."""
        self._heard = 0
        self._dropped = 0

    def heard(self, rank: int, events: Sequence[KvEvent]) -> None:
        """See `PoolObserver`."""
        self._heard += 1
        shelves, tiers = self._shelves[rank], self._pool.router_tiers
        for event in events:
            shelves[tiers[event.tier]].hear(event)

    def dropped(self, rank: int, messages: int) -> None:
        """See `PoolObserver`."""
        self._dropped += messages

    def forgotten(self, rank: int) -> None:
        """See `PoolObserver`."""
        for shelf in self._shelves[rank].values():
            shelf.forget()
        self._predictions.forget(rank)

    def cleared(self) -> None:
        """See `PoolObserver`."""
        for rank, shelves in enumerate(self._shelves):
            for shelf in shelves.values():
                shelf.indexed.clear()
            self._predictions.forget(rank)

    def booked(self, record: RequestState, rank: int, now_s: float) -> None:
        """A request was booked, after it was decided on."""
        self._predictions.sent(rank, record.attention_blocks, now_s)

    def decided(self, record: RequestState, decision: Decision, now_s: float) -> None:
        """Compare what a decision was made from with what its ranks hold."""
        self._until_look -= 1
        if not self._replica.router.hears_events or self._until_look:
            return
        self._until_look = self._every
        blocks = record.attention_blocks
        for terms in decision.terms:
            credited = terms.device_blocks, terms.host_blocks, terms.disk_blocks
            self._compare(record.request.index, blocks, terms.rank, credited, now_s)

    def looked_up(self, query: Query, overlap: Overlap, now_s: float) -> None:
        """Compare what was looked up of a prompt with what the ranks hold."""
        self._until_look -= 1
        if not self._replica.router.hears_events or self._until_look:
            return
        self._until_look = self._every
        tiers = [entries(column, len(self._shelves)) for column in overlap[:3]]
        for rank in range(len(self._shelves)):
            device, host, disk = (tier[rank] for tier in tiers)
            self._compare(query.request, BlockRuns.of(query.blocks), rank, (device, host, disk), now_s)

    def _compare(
        self, request: int, blocks: BlockRuns, rank: int, credited: tuple[int, int, int], now_s: float
    ) -> None:
        shelves = self._shelves[rank]
        device = _run(shelves["device"].indexed, blocks, 0)
        host = _run(shelves["host"].indexed, blocks, device)
        disk = _run(shelves["disk"].indexed, blocks, host)
        predicted = self._predictions.depth(rank, blocks, now_s)
        held = max(device, predicted), host - device, disk - host
        if held != credited:
            detail = f"the router counts {credited} blocks in GPU, host and disk, its events say {held}"
            self._fail(detail, rank, now_s, request=request)

    def check(self, now_s: float) -> None:
        """Compare everything that the index has."""
        waiting = len(self._replica.undelivered)
        if self.sent != self._heard + self._dropped + waiting:
            detail = f"{self.sent} messages of KV events were sent, {self._heard} heard, {waiting} wait"
            detail += f", {self._dropped} are lost" if self._dropped else ""
            raise InvariantError(RULE, detail, now_s=now_s)
        if not self._replica.router.hears_events:
            return
        for tier in TIERS:
            counts = [0] * len(self._shelves)
            for start, stop, ranks in self._replica.router.held(tier):
                for rank, shelves in enumerate(self._shelves):
                    if ranks >> rank & 1:
                        counts[rank] += stop - start
                        if not shelves[tier].indexed.issuperset(range(start, stop)):
                            detail = f"blocks {start} to {stop - 1} of the {tier} tier are not in its events"
                            self._fail(detail, rank, now_s)
            for rank, shelves in enumerate(self._shelves):
                if counts[rank] != len(shelves[tier].indexed):
                    detail = (
                        f"{counts[rank]} blocks in its {tier} tier, {len(shelves[tier].indexed)} by events"
                    )
                    self._fail(detail, rank, now_s)

    def _fail(self, detail: str, rank: int, now_s: float, request: int | None = None) -> None:
        worker = self._pool.members[rank]
        raise InvariantError(RULE, detail, request=request, worker=worker, now_s=now_s)


def _run(held: set[int], blocks: BlockRuns, start: int) -> int:
    """Return up to which position the blocks from `start` on are held without a gap."""
    end = start
    for run in blocks.between(start, len(blocks)):
        if held.issuperset(run):
            end += len(run)
            continue
        return end + next(place for place, block in enumerate(run) if block not in held)
    return end
