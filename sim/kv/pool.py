"""The block pool of one engine: who holds which block, which hash it carries, and who is evicted next.

Rules of vLLM 0.28.0. Block 0 is the null block: taken out at start and never freed. A block with reference
count 0 is free, cached or not; free blocks form one queue, evicted from the front, and only there.
"""

from collections.abc import Iterable, Sequence

from sim.kv.events import KvEvent

NULL_BLOCK = 0


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
        """Blocks allocated or touched since the list was last cleared (by the engine, once a step)."""
        self.cached: list[dict[int, int]] = [{} for _ in range(num_groups)]
        """Every cached hash of each group with the oldest block that carries it. Looking is not touching."""
        self._younger: list[dict[int, dict[int, None]]] = [{} for _ in range(num_groups)]
        """Hashes that several blocks carry: the other ones, in the order in which they were registered."""
        self._references = [0] * num_blocks
        self._references[NULL_BLOCK] = 1
        self._hash: list[int | None] = [None] * num_blocks
        self._group = [0] * num_blocks
        # A circular list through the null block, which is never in the queue itself.
        self._next = [*range(1, num_blocks), NULL_BLOCK]
        self._previous = [num_blocks - 1, *range(num_blocks - 1)]

    @property
    def used_blocks(self) -> int:
        """Blocks with references (the null block apart)."""
        return self.num_blocks - 1 - self.free_blocks

    def hash_of(self, block: int) -> int | None:
        """Return the hash under which the block can be found."""
        return self._hash[block]

    def run(self, hashes: Iterable[int], group: int) -> list[int]:
        """Return the cached blocks of the leading hashes, up to the first that is not cached."""
        oldest = self.cached[group].get
        blocks: list[int] = []
        for block_hash in hashes:
            block = oldest(block_hash)
            if block is None:
                break
            blocks.append(block)
        return blocks

    def count_free(self, blocks: Iterable[int]) -> int:
        """How many of these blocks nobody holds (touching them takes them out of the free queue)."""
        references = self._references
        return [references[block] for block in blocks].count(0)

    def allocate(self, count: int) -> list[int]:
        """Take `count` blocks from the front of the free queue; cached ones lose their hash.

        Raises ValueError when fewer are free: callers ask `free_blocks` first.
        """
        if count > self.free_blocks:
            raise ValueError(f"{count} blocks asked for, {self.free_blocks} free")
        blocks: list[int] = []
        following = self._next
        block = following[NULL_BLOCK]
        for _ in range(count):
            if self._hash[block] is not None:
                self._evict(block)
            self._references[block] = 1
            blocks.append(block)
            block = following[block]
        following[NULL_BLOCK] = block
        self._previous[block] = NULL_BLOCK
        self.free_blocks -= count
        self.changes += 1
        self.taken += blocks
        return blocks

    def touch(self, blocks: Sequence[int]) -> None:
        """Add one reference to each block, taking it out of the free queue if nobody held it."""
        references = self._references
        for block in blocks:
            if references[block] == 0:
                self._unlink(block)
            references[block] += 1
        self.changes += 1
        self.taken += blocks

    def free(self, blocks: Iterable[int]) -> None:
        """Drop one reference of each block.

        Those that reach 0 return to the queue: without a hash to its front (the first of the list ends up
        frontmost), with a hash to its back, in order.
        """
        references, hashes = self._references, self._hash
        plain: list[int] = []
        for block in blocks:
            references[block] -= 1
            if references[block] == 0:
                if hashes[block] is None:
                    plain.append(block)
                else:
                    self._link(self._previous[NULL_BLOCK], block)
        for block in reversed(plain):
            self._link(NULL_BLOCK, block)
        self.changes += 1

    def register(self, block: int, block_hash: int, group: int) -> None:
        """Make a held block findable under its hash; a second copy is kept beside the first."""
        self._hash[block] = block_hash
        self._group[block] = group
        if self.cached[group].setdefault(block_hash, block) != block:
            self._younger[group].setdefault(block_hash, {})[block] = None
        self.changes += 1

    def free_queue(self) -> list[int]:
        """The free blocks from front (evicted next) to back."""
        queue: list[int] = []
        block = self._next[NULL_BLOCK]
        while block != NULL_BLOCK:
            queue.append(block)
            block = self._next[block]
        return queue

    def _evict(self, block: int) -> None:
        block_hash, group = self._hash[block], self._group[block]
        assert block_hash is not None
        self._hash[block] = None
        oldest, younger = self.cached[group], self._younger[group].get(block_hash)
        if younger is None:
            del oldest[block_hash]
        else:
            if oldest[block_hash] == block:
                block = oldest[block_hash] = next(iter(younger))
            del younger[block]
            if not younger:
                del self._younger[group][block_hash]
        self.events.append(KvEvent(False, group, None, [block_hash], "GPU"))

    def _unlink(self, block: int) -> None:
        before, after = self._previous[block], self._next[block]
        self._next[before] = after
        self._previous[after] = before
        self.free_blocks -= 1

    def _link(self, before: int, block: int) -> None:
        after = self._next[before]
        self._next[before] = block
        self._previous[block] = before
        self._next[block] = after
        self._previous[after] = block
        self.free_blocks += 1
