"""The block pool of one engine: who holds which block, which hash it carries, and who is evicted next.

Rules of vLLM 0.28.0. A block with reference count 0 is free, cached or not; free blocks form one queue,
evicted from the front, and only there. Blocks without a hash return to its front and those with a hash to its
back, so that all without a hash stand before all with one.

Which physical block is used makes no difference to any of this, so that blocks are known as positions of
extents (`sim.kv.extent`), and what a prompt costs does not grow with its blocks. Somebody who copies
blocks behind the pool's back has to know: `number_blocks`.
"""

from collections.abc import Iterable, Sequence

from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part, Segment
from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns

NULL_BLOCK = 0
"""Number of the block that is never given out; it stands where a request has no block."""


class BlockPool:
    """`num_blocks` blocks (null block included) shared by `num_groups` cache groups.

    Events are appended to `events` in the order of happening; whoever drains the list publishes them.
    """

    def __init__(self, num_blocks: int, num_groups: int) -> None:
        if num_blocks < 2:
            raise ValueError(f"a pool needs the null block and at least one more, not {num_blocks} blocks")
        self.num_blocks = num_blocks
        self.free_blocks = num_blocks - 1
        self.events: list[KvEvent] = []
        self.changes = 0
        """Counts every change of the free queue or of a hash: equal counts mean an equal pool."""
        self.taken: list[int] = []
        """Numbers of the blocks allocated or touched since the list was last cleared (once a step)."""
        self.cached: list[IntervalMap[tuple[Extent, ...]]] = [IntervalMap(()) for _ in range(num_groups)]
        """The extents that carry each hash of each group, the oldest first. Looking is not touching."""
        self.tail_only_blocks = 0
        """Free blocks that have no hash but that of a tail."""
        self._plain_blocks = num_blocks - 1
        """Free blocks without a hash."""
        self._plain_numbers: list[int] = []
        """Their numbers, if blocks have numbers; the front of the queue is at the end of the list."""
        self._queue = Segment(Extent(0, 0), 0, 0, 1)
        """Stands in the circle of the free segments between the last and the first."""
        self._queue.before = self._queue.after = self._queue

    def number_blocks(self) -> None:
        """Give every block a number, and log in `taken` what happens to it. Before anything is allocated.

        Raises ValueError when it is too late.
        """
        if self.changes:
            raise ValueError("blocks have been allocated that have no number")
        self._plain_numbers = [*range(self.num_blocks - 1, NULL_BLOCK, -1)]

    @property
    def used_blocks(self) -> int:
        """Blocks with references (the null block apart)."""
        return self.num_blocks - 1 - self.free_blocks

    @property
    def filled_blocks(self) -> int:
        """Blocks that hold something: with references, or cached."""
        return self.num_blocks - 1 - self._plain_blocks

    def run(self, block_ids: BlockRuns, stop: int, group: int, start: int = 0) -> list[Part]:
        """Return the cached blocks of the ids from `start` to `stop`, up to the first that is not cached."""
        parts: list[Part] = []
        position = start
        for ids in block_ids.between(start, stop):
            ahead = position - ids.start
            for first, end, copies in self.cached[group].segments(ids.start, ids.stop):
                if not copies:
                    return parts
                if parts and parts[-1][0] is copies[0]:
                    parts[-1] = (copies[0], parts[-1][1], end + ahead)
                else:
                    parts.append((copies[0], first + ahead, end + ahead))
            position += ids.stop - ids.start
        return parts

    def present(self, block_ids: BlockRuns, start: int, stop: int, group: int) -> list[tuple[int, int]]:
        """Return the positions from `start` to `stop` whose ids are cached, as runs in order."""
        runs: list[tuple[int, int]] = []
        position = start
        for ids in block_ids.between(start, stop):
            ahead = position - ids.start
            for first, end, copies in self.cached[group].segments(ids.start, ids.stop):
                if copies:
                    if runs and runs[-1][1] == first + ahead:
                        runs[-1] = (runs[-1][0], end + ahead)
                    else:
                        runs.append((first + ahead, end + ahead))
            position += ids.stop - ids.start
        return runs

    def count_free(self, parts: Iterable[Part]) -> int:
        """How many of these blocks nobody holds (touching them takes them out of the free queue)."""
        return sum(extent.count_free(start, stop) for extent, start, stop in parts)

    def allocate(self, extent: Extent, count: int) -> None:
        """Lengthen an extent by `count` blocks from the front of the free queue; cached ones are evicted.

        Raises ValueError when fewer are free: callers ask `free_blocks` first.
        """
        if count > self.free_blocks:
            raise ValueError(f"{count} blocks asked for, {self.free_blocks} free")
        self.free_blocks -= count
        self.changes += 1
        plain = min(count, self._plain_blocks)
        numbers: list[int] = []
        if plain:
            self._plain_blocks -= plain
            numbers = self._plain_numbers[: -plain - 1 : -1]
            del self._plain_numbers[-plain:]
        if count > plain:
            numbers += self._evict(count - plain)
        extent.numbers += numbers
        self.taken += numbers

    def touch(self, parts: Iterable[Part]) -> None:
        """Add one reference to each block, taking it out of the free queue if nobody held it."""
        for extent, start, stop in parts:
            for segment in extent.cut(start, stop):
                if not segment.references:
                    segment.leave_queue()
                    self.free_blocks -= segment.stop - segment.start
                segment.references += 1
            extent.join()
            self.taken += extent.numbers_of(start, stop)
        self.changes += 1

    def free(self, parts: Sequence[Part]) -> None:
        """Drop one reference of each block, of each part the deepest first.

        Those that reach 0 return to the queue: without a hash to its front (the first to be dropped ends up
        frontmost), with a hash to its back, in order.
        """
        for extent, start, stop in parts:
            if extent.tail is not None and start <= extent.end < stop:
                self._close_tail(extent)
            hashed = min(stop, extent.end)
            if start < hashed:
                for segment in reversed(extent.cut(start, hashed)):
                    segment.references -= 1
                    if not segment.references:
                        segment.enqueue(self._queue)
                        self.free_blocks += segment.stop - segment.start
                extent.join()
        for extent, start, stop in reversed(parts):
            plain = max(start, extent.end)
            if plain < stop:
                self._plain_blocks += stop - plain
                self.free_blocks += stop - plain
                self._plain_numbers += extent.numbers_of(plain, stop)
        self.changes += 1

    def name_tail(self, extent: Extent, position: int, block_id: int) -> bool:
        """Give a block the id of a prompt that ends inside it; return whether it is new to the block.

        The block is full, or the first one after those that are.
        """
        if position == extent.end:
            fresh = extent.tail != block_id
            extent.tail = block_id
            return fresh
        if extent.tails is None:
            extent.tails = {}
        names = extent.tails.setdefault(position, [])
        if block_id in names:
            return False
        names.append(block_id)
        return True

    def _close_tail(self, extent: Extent) -> None:
        """The last block of an extent goes back with no id but that of a tail: it counts as hashed."""
        end = extent.end
        extent.end = end + 1
        self.tail_only_blocks += 1
        assert extent.tail is not None
        extent.tails = {**(extent.tails or {}), end: [extent.tail]}
        extent.segments.append(Segment(extent, end, end + 1, 1))

    def register(self, extent: Extent, block_ids: BlockRuns, end: int) -> list[range]:
        """Make the blocks of a request findable by their ids, up to position `end`; return these.

        Blocks that carry the same hash already keep it, and are found first.
        """
        start, extent.end, extent.block_ids = extent.end, end, block_ids
        if extent.tail is not None:
            self.events.append(KvEvent(False, extent.group, None, [extent.tail], "device", tail=True))
            extent.tail = None
        runs = block_ids.between(start, end)
        cached = self.cached[extent.group]
        for ids in runs:
            cached.update(ids.start, ids.stop, extent.added_to)
        last = extent.segments[-1] if extent.segments else None
        if last is not None and last.references == 1 and last.stop == start:
            last.stop = end
        else:
            extent.segments.append(Segment(extent, start, end, 1))
        self.changes += 1
        return runs

    @property
    def plain_blocks(self) -> int:
        """Free blocks without a hash: they stand before all others in the queue."""
        return self._plain_blocks

    def evictable(self) -> list[Part]:
        """Return the free blocks with a hash, the front (evicted next) first, of a part the deepest one."""
        parts: list[Part] = []
        segment = self._queue.after
        while segment is not self._queue:
            parts.append((segment.extent, segment.start, segment.stop))
            segment = segment.after
        return parts

    def free_queue(self) -> list[tuple[int, int] | None]:
        """Return (hash, group) of the free blocks from front (evicted next) to back; None without a hash."""
        queue: list[tuple[int, int] | None] = [None] * self._plain_blocks
        for extent, start, stop in self.evictable():
            tail_only = extent.tail is not None and stop == extent.end
            if extent.tail is not None and tail_only:
                queue.append((extent.tail, extent.group))
            block_ids = extent.block_ids[start : stop - tail_only]
            queue += [(block_id, extent.group) for block_id in reversed(block_ids)]
        return queue

    def _evict(self, count: int) -> list[int]:
        """Take so many blocks with a hash from the front of the queue; return their numbers."""
        numbers: list[int] = []
        while count:
            segment = self._queue.after
            extent, stop = segment.extent, segment.stop
            start = max(segment.start, stop - count)
            count -= stop - start
            numbers += reversed(extent.numbers_of(start, stop))
            if start > segment.start:
                segment.stop = start
            else:
                segment.leave_queue()
                extent.segments.remove(segment)
            self._forget(extent, start, stop)
        return numbers

    def _forget(self, extent: Extent, start: int, stop: int) -> None:
        """Take the hash from some blocks, the deepest first."""
        if extent.tails is not None:
            self._forget_tails(extent, start, stop)
            return
        self._forget_run(extent, start, stop)

    def _forget_tails(self, extent: Extent, start: int, stop: int) -> None:
        """Take them from blocks of which some have further ids, which go after the block's own."""
        assert extent.tails is not None
        for position in range(stop - 1, start - 1, -1):
            if extent.tail is None or position < extent.end - 1:
                self._forget_run(extent, position, position + 1)
            else:
                self.tail_only_blocks -= 1
            for block_id in extent.tails.pop(position, ()):
                self.events.append(KvEvent(False, extent.group, None, [block_id], "device", tail=True))

    def _forget_run(self, extent: Extent, start: int, stop: int) -> None:
        group = extent.group
        for ids in reversed(extent.block_ids.between(start, stop)):
            self.cached[group].update(ids.start, ids.stop, extent.taken_from)
            removed = range(ids.stop - 1, ids.start - 1, -1)
            self.events.append(KvEvent(False, group, None, removed, "device"))
