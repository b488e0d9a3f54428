"""What the OffloadingConnector remembers of one request: keys, blocks, and how far they are stored."""

from collections.abc import Collection, Iterable, Sequence

from sim.engine.active import ActiveRequest
from sim.engine.transfer_job import TransferJob, TransferJobs
from sim.kv.access import Access
from sim.kv.extent import NO_BLOCK_IDS
from sim.kv.group_spec import GroupSpec, hash_tokens
from sim.kv.groups import Table
from sim.kv.key_runs import Key, KeyRuns
from sim.kv.pool import NULL_BLOCK
from sim.kv.runs import BlockRuns


class OffloadState:
    """Lists of a request by cache group and position (vLLM's RequestOffloadState)."""

    __slots__ = (
        "_scales",
        "_sizes",
        "access",
        "blocks",
        "considered",
        "ended",
        "hit_tokens",
        "jobs",
        "keys",
        "request",
    )

    def __init__(self, groups: Sequence[GroupSpec], request: ActiveRequest | None = None) -> None:
        self.request = request
        """Whose state it is; None: nobody's, for a question."""
        self.access: Access | None = None
        """What it did with the keys of the first tier, where that counts by request."""
        self._sizes = [spec.block_tokens for spec in groups]
        self._scales = [spec.block_tokens // hash_tokens(groups) for spec in groups]
        self.keys = [KeyRuns(NO_BLOCK_IDS, group) for group in range(len(groups))]
        """Keys of the full blocks of all known tokens, generated ones too."""
        self.blocks: list[list[int]] = [[] for _ in groups]
        """GPU blocks as they were given to the request, NULL_BLOCK where there is none.

        A recurrent state, or a block that left its window, stays here until somebody takes the block.
        """
        self.considered = [0] * len(groups)
        """Positions that were stored, loaded or found present, by group."""
        self.hit_tokens = 0
        """Length of its hit, GPU memory and tiers together."""
        self.jobs: set[int] = set()
        self.ended = False

    def extend_keys(self, block_ids: BlockRuns, tokens: int) -> None:
        """Name the keys of the full blocks of so many tokens."""
        for group, (keys, scale, size) in enumerate(zip(self.keys, self._scales, self._sizes, strict=True)):
            if len(keys) < tokens // size:
                self.keys[group] = KeyRuns(block_ids.every(scale)[: tokens // size], group)

    def follow(self, tables: Iterable[Table]) -> None:
        """Take down the positions that the request's tables have gained."""
        for blocks, table in zip(self.blocks, tables, strict=True):
            if len(blocks) < table.length:
                blocks.extend(table.numbers(len(blocks), table.length))

    def has_considered(self, tokens: int) -> bool:
        """Whether all full blocks of so many tokens were considered."""
        for considered, size in zip(self.considered, self._sizes, strict=True):
            if considered < tokens // size:
                return False
        return True

    def lose(self, taken: set[int], groups: Iterable[int]) -> None:
        """Forget blocks of these groups that were not stored before they were taken for something else."""
        for group in groups:
            blocks = self.blocks[group]
            for position in range(self.considered[group], len(blocks)):
                if blocks[position] in taken:
                    blocks[position] = NULL_BLOCK

    def storable_ends(self, tokens: int, *, late: bool) -> list[int] | None:
        """Return up to which position each group can be stored; None if that is nothing new.

        `late`: the last full block is left for later.
        """
        ends: list[int] = []
        news = False
        for size, blocks, considered in zip(self._sizes, self.blocks, self.considered, strict=True):
            end = min(max(0, tokens // size - late), len(blocks))
            ends.append(end)
            news |= end > considered
        return ends if news else None

    def consider(self, ends: Iterable[int]) -> None:
        """All before these positions has been considered; a position never moves back."""
        for group, end in enumerate(ends):
            self.considered[group] = max(self.considered[group], end)

    def ends_of(self, keys: Iterable[Key]) -> dict[Key, int]:
        """Return where the blocks of some of its keys end, in tokens."""
        wanted = set(keys)
        found: dict[Key, int] = {}
        for names, size in zip(self.keys, self._sizes, strict=True):
            found.update({key: place * size for place, key in enumerate(names, 1) if key in wanted})
        return found

    def sources(
        self,
        ends: Sequence[int],
        full_group: int | None,
        read_blocks: Sequence[int | None],
        *,
        drops_last_block: bool,
        left_out: Collection[int] = (),
    ) -> dict[Key, int]:
        """Return what can be stored up to these positions, but for groups that are `left_out`.

        Where full-attention blocks are larger, a window is loaded only before the end of one: of each so many
        blocks the last that it reads are stored.
        """
        found: dict[Key, int] = {}
        full_tokens = 0 if full_group is None else self._sizes[full_group]
        for group, end in enumerate(ends):
            if group in left_out:
                continue
            keys, blocks, read = self.keys[group], self.blocks[group], read_blocks[group]
            segment = full_tokens // self._sizes[group]
            start = self.considered[group]
            if read is None or read >= segment:
                there = zip(keys[start:end], blocks[start:end], strict=True)
                found.update({key: block for key, block in there if block != NULL_BLOCK})
                continue
            wanted = read + drops_last_block
            for position in range(start, end):
                place = position % segment
                in_reach = place >= min(segment, end - (position - place)) - wanted
                if in_reach and blocks[position] != NULL_BLOCK:
                    found[keys[position]] = blocks[position]
        return found


class OffloadBook:
    """The states of one engine's requests, and the jobs between GPU memory and its first tier."""

    __slots__ = ("_groups", "_jobs", "_tier", "tracked")

    def __init__(self, groups: Sequence[GroupSpec], jobs: TransferJobs, tier: str) -> None:
        self.tracked: dict[int, OffloadState] = {}
        """By id of the request, until it has ended and no job of its is under way."""
        self._groups = groups
        self._jobs = jobs
        self._tier = tier

    def track(self, request: ActiveRequest) -> OffloadState:
        """Return the state of a request, from now on kept."""
        tracked = self.tracked.get(request.request_id)
        if tracked is None:
            tracked = self.tracked[request.request_id] = OffloadState(self._groups, request)
        return tracked

    def forget_if_over(self, request_id: int) -> None:
        """Drop the state of a request of which nothing more will come."""
        tracked = self.tracked[request_id]
        if tracked.ended and not tracked.jobs:
            del self.tracked[request_id]

    def new_job(
        self, request: ActiveRequest, load: bool, blocks: dict[Key, int], parents: dict[Key, int | None]
    ) -> TransferJob:
        """Plan a copy for a request."""
        job = self._jobs.add(request.request_id, load, blocks, parents, tier=self._tier, of_gpu=True)
        self.track(request).jobs.add(job.job_id)
        return job
