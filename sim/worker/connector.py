"""vLLM 0.28.0's OffloadingConnector: what is copied to the CPU tier, what comes back, and when a copy is forced.

A chunk is one engine block. Stores are planned with each step, loads at admission; both are jobs that somebody
else carries out and reports with `complete`. Source blocks of a store are not pinned: when one is taken for other
content before the copy is done, the job must be finished before the step runs (a flush).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache
from sim.kv.offload import IDLE, CpuTier, Key
from sim.worker.active import ActiveRequest


@dataclass(slots=True)
class TransferJob:
    """Blocks copied between GPU and CPU for one request."""

    job_id: int
    request_id: int
    load: bool
    blocks: dict[Key, int]
    """Key to GPU block, in planned order."""
    parents: dict[Key, int | None]
    """Stores: the hash before each attention key, None at the start of the prompt."""

    def blocks_by_group(self, groups: int) -> list[int]:
        """How many blocks of each cache group move."""
        counts = [0] * groups
        for _, group in self.blocks:
            counts[group] += 1
        return counts


@dataclass(slots=True)
class _Tracked:
    """What the connector remembers of one request."""

    considered_chunks: int = 0
    """Chunks that were stored, loaded or found present."""
    hit_chunks: int = 0
    """Length of its hit, GPU and CPU tier together."""
    jobs: set[int] = field(default_factory=set)
    ended: bool = False


@dataclass(slots=True)
class _Ended:
    """A request that ended with chunks not considered yet: they are tried once more in the next step."""

    request: ActiveRequest
    blocks: dict[Key, int]
    end_chunk: int


class OffloadingConnector:
    """The connector of one engine. `prompt_only`: blocks of generated tokens are not stored (default)."""

    def __init__(self, cache: KvCache, tier: CpuTier, *, prompt_only: bool = True) -> None:
        self.tier = tier
        self.events: list[KvEvent] = []
        """CPU-tier events not yet published."""
        self.failed_stores = 0
        """Calls that found no room (vllm:kv_offload_allocation_failure)."""
        self.jobs: dict[int, TransferJob] = {}
        """Jobs planned and not yet reported complete."""
        self._cache = cache
        self._prompt_only = prompt_only
        self._tracked: dict[int, _Tracked] = {}
        self._ended: list[_Ended] = []
        self._pending_sources: dict[int, set[int]] = {}
        self._next_job = 0

    # -- admission ------------------------------------------------------------------------------------------

    def lookup(self, request: ActiveRequest, local_tokens: int) -> int | None:
        """Tokens the CPU tier adds to a local hit; None: ask again later.

        Touches the request's keys. "Later" is the answer while the request has transfers of its own, and while
        a key it would load is being written or read.
        """
        tracked = self._track(request)
        if tracked.jobs:
            return None
        start = local_tokens // self._cache.block_tokens
        end = self._hit_end(request, start)
        state = self.tier.state
        later = end > start and any(state(key) != IDLE for key in self._load_positions(request, start, end))
        if not later:
            tracked.hit_chunks = end
        self._touch(request, tracked)
        return None if later else (end - start) * self._cache.block_tokens

    def _touch(self, request: ActiveRequest, tracked: _Tracked) -> None:
        hashes, full = request.hashes, request.num_tokens // self._cache.block_tokens
        for group in range(len(self._cache.groups)):
            first = 0 if group == self._cache.attention_group else max(tracked.hit_chunks - 1, 0)
            self.tier.touch([(hashes[position], group) for position in range(first, full)])

    def _hit_end(self, request: ActiveRequest, start: int) -> int:
        """Deepest boundary up to which attention is present and every recurrent group has a state."""
        cache, state, hashes = self._cache, self.tier.state, request.hashes
        end = start
        limit = (request.num_tokens - 1 if cache.recurrent else request.num_tokens) // cache.block_tokens
        while end < limit and state((hashes[end], cache.attention_group)) is not None:
            end += 1
        settled = 0
        while settled < len(cache.recurrent):
            settled = 0
            for group in range(len(cache.recurrent)):
                lowered = end
                while lowered > start and state((hashes[lowered - 1], group)) is None:
                    lowered -= 1
                if lowered == start:
                    return start
                settled = settled + 1 if lowered == end else 1
                end = lowered
        return end

    def _load_positions(self, request: ActiveRequest, start: int, end: int) -> dict[Key, int]:
        cache, hashes = self._cache, request.hashes
        states = {(hashes[end - 1], group): end - 1 for group in range(len(cache.recurrent))}
        return states | {(hashes[position], cache.attention_group): position for position in range(start, end)}

    def start_load(self, request: ActiveRequest, local_tokens: int, external_tokens: int) -> TransferJob:
        """Read what `lookup` promised into the blocks that were allocated for it."""
        block_tokens = self._cache.block_tokens
        start, end = local_tokens // block_tokens, (local_tokens + external_tokens) // block_tokens
        positions = self._load_positions(request, start, end)
        self.tier.load(positions)
        self._track(request).considered_chunks = end
        blocks = {key: request.tables[key[1]].blocks[position] for key, position in positions.items()}
        return self._new_job(request, True, blocks)

    # -- each step ------------------------------------------------------------------------------------------

    def plan(
        self, scheduled: Iterable[tuple[ActiveRequest, int]], preempted: Iterable[ActiveRequest]
    ) -> tuple[list[TransferJob], list[int]]:
        """Return (stores, flushes) of a step that schedules so many tokens of each request.

        Flushes are the jobs that must end before the step runs: a source block was taken, or the request was
        preempted.
        """
        taken = self._cache.pool.taken
        flushes = self._sources_taken(taken)
        for request in preempted:
            tracked = self._track(request)
            flushes |= tracked.jobs
            tracked.considered_chunks = 0
        stores: list[TransferJob] = []
        for request, tokens in scheduled:
            job = self._store_scheduled(request, request.computed + tokens)
            if job is not None:
                stores.append(job)
        for ended in self._ended:
            job = self._store_ended(ended, set(taken))
            if job is not None:
                stores.append(job)
        if self._ended:
            self._ended.clear()
            flushes |= self._sources_taken(taken) & {job.job_id for job in stores if self._tracked[job.request_id].ended}
        return stores, sorted(flushes)

    def _sources_taken(self, taken: Iterable[int]) -> set[int]:
        pending = self._pending_sources
        if not pending:
            return set()
        return {job_id for block in taken for job_id in pending.get(block, ())}

    def _store_scheduled(self, request: ActiveRequest, computed: int) -> TransferJob | None:
        """Store the chunks that are full once this step has run and were not considered yet."""
        tracked = self._track(request)
        storable = min(computed, request.prompt_tokens) if self._prompt_only else computed
        end = storable // self._cache.block_tokens
        if end <= tracked.considered_chunks:
            return None
        job = self._store(request, self._sources(request, tracked.considered_chunks, end), end)
        if job is not None:
            for (_, group), block in job.blocks.items():
                if group != self._cache.attention_group:
                    self._pending_sources.setdefault(block, set()).add(job.job_id)
        return job

    def _store_ended(self, ended: _Ended, taken: set[int]) -> TransferJob | None:
        """Store what is left of a request that ended; states whose block was taken meanwhile are lost."""
        attention = self._cache.attention_group
        blocks = {
            key: block for key, block in ended.blocks.items() if key[1] == attention or block not in taken
        }
        job = self._store(ended.request, blocks, ended.end_chunk)
        if job is not None:
            self._guard_sources(job)
        return job

    def _sources(self, request: ActiveRequest, start: int, end: int) -> dict[Key, int]:
        return {
            (request.hashes[position], group): table.blocks[position]
            for group, table in enumerate(request.tables)
            for position in range(start, end)
            if position in table.blocks
        }

    def _store(self, request: ActiveRequest, blocks: dict[Key, int], end: int) -> TransferJob | None:
        """Begin to write the absent keys, all or nothing: without room the next step tries again."""
        tracked = self._track(request)
        if any(self.tier.state(key) is None for key in blocks):
            room = self.tier.store([*blocks])
            if room is None:
                self.failed_stores += 1
                return None
        else:
            tracked.considered_chunks = end
            return None
        fresh, evicted = room
        tracked.considered_chunks = end
        self._publish_evicted(evicted)
        self._touch(request, tracked)
        return self._new_job(request, False, {key: blocks[key] for key in fresh})

    def _publish_evicted(self, evicted: Iterable[Key]) -> None:
        by_group: dict[int, list[int]] = {}
        for block_hash, group in evicted:
            by_group.setdefault(group, []).append(block_hash)
        self.events += [KvEvent(False, group, None, hashes, "CPU") for group, hashes in by_group.items()]

    # -- ends -----------------------------------------------------------------------------------------------

    def finished(self, request: ActiveRequest) -> None:
        """The request ends, its blocks still in its tables: from now on attention blocks can be taken too."""
        tracked = self._track(request)
        tracked.ended = True
        storable = min(request.num_tokens, request.prompt_tokens) if self._prompt_only else request.num_tokens
        end = storable // self._cache.block_tokens
        if end > tracked.considered_chunks:
            blocks = self._sources(request, tracked.considered_chunks, end)
            self._ended.append(_Ended(request, blocks, end))
        for job_id in tracked.jobs:
            self._guard_sources(self.jobs[job_id])
        self._forget_if_over(request.request_id)

    def _guard_sources(self, job: TransferJob) -> None:
        for block in job.blocks.values():
            self._pending_sources.setdefault(block, set()).add(job.job_id)

    def complete(self, job_id: int, order: Sequence[Key] | None = None) -> TransferJob:
        """A job is done. `order` is the order in which its keys become idle; by default the planned one.

        vLLM walks a Python set there, so the real order is arbitrary; it matters only under eviction.
        """
        job = self.jobs.pop(job_id)
        keys = list(job.blocks) if order is None else order
        self._tracked[job.request_id].jobs.discard(job_id)
        self._forget_if_over(job.request_id)
        if job.load:
            self.tier.loaded(keys)
            return job
        self.tier.stored(keys)
        self.events += [KvEvent(True, key[1], job.parents.get(key), [key[0]], "CPU") for key in keys]
        for block in job.blocks.values():
            pending = self._pending_sources.get(block)
            if pending is not None:
                pending.discard(job_id)
                if not pending:
                    del self._pending_sources[block]
        return job

    # -- bookkeeping ----------------------------------------------------------------------------------------

    def _track(self, request: ActiveRequest) -> _Tracked:
        tracked = self._tracked.get(request.request_id)
        if tracked is None:
            tracked = self._tracked[request.request_id] = _Tracked()
        return tracked

    def _forget_if_over(self, request_id: int) -> None:
        tracked = self._tracked[request_id]
        waits = any(ended.request.request_id == request_id for ended in self._ended)
        if tracked.ended and not tracked.jobs and not waits:
            del self._tracked[request_id]

    def _new_job(self, request: ActiveRequest, load: bool, blocks: dict[Key, int]) -> TransferJob:
        job = TransferJob(self._next_job, request.request_id, load, blocks, {})
        self._next_job += 1
        self.jobs[job.job_id] = job
        self._track(request).jobs.add(job.job_id)
        if not load:
            job.parents.update(self._parents(request, blocks))
        return job

    def _parents(self, request: ActiveRequest, blocks: Iterable[Key]) -> dict[Key, int | None]:
        attention = self._cache.attention_group
        positions = {block_hash: position for position, block_hash in enumerate(request.hashes)}
        parents: dict[Key, int | None] = {}
        for key in blocks:
            if key[1] == attention:
                position = positions[key[0]]
                parents[key] = request.hashes[position - 1] if position else None
        return parents
