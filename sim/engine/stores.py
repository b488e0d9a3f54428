"""What an engine copies to its first tier, and which copies must end before a block is overwritten."""

from collections.abc import Iterable, Sequence

from sim.engine.active import ActiveRequest
from sim.engine.offload_state import OffloadBook, OffloadState
from sim.engine.rules.tier_progress import Progress
from sim.engine.rules.tier_recency import Touches
from sim.engine.rules.tier_stores import OneJob
from sim.engine.transfer_job import TransferJob
from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key
from sim.kv.offload import OffloadTier
from sim.kv.tier_events import removed_events
from sim.kv.tier_hit import read_blocks


class Stores:
    """The stores of one engine; settings and rules are those of its connector, `events` its events."""

    def __init__(
        self,
        cache: KvCache,
        tier: OffloadTier,
        requests: OffloadBook,
        events: list[KvEvent],
        *,
        prompt_only: bool,
        recency: Touches,
        progress: Progress,
        jobs: OneJob,
    ) -> None:
        self.failed = 0
        """Calls that found no room."""
        self._cache = cache
        self._tier = tier
        self._requests = requests
        self._events = events
        self._prompt_only = prompt_only
        self._recency = recency
        self._progress = progress
        self._jobs = jobs
        self._read = [read_blocks(spec) for spec in cache.specs]
        self._pending_sources: dict[int, set[int]] = {}
        """Block to the stores that read it and must be finished when it is taken."""

    def of_states(self) -> list[TransferJob]:
        """Store states by themselves that have become findable, of requests that still have their blocks."""
        jobs: list[TransferJob] = []
        for table, group, position in self._jobs.take_offers():
            tracked = self._requests.tracked.get(table.request_id)
            request = tracked.request if tracked is not None else None
            if tracked is None or request is None or not request.tables or request.tables[group] is not table:
                continue
            storable = request.prompt_tokens if self._prompt_only else request.num_tokens
            if (position + 1) * self._cache.specs[group].block_tokens > storable:
                continue
            tracked.extend_keys(request.block_ids, request.hashed_tokens)
            job = self._offer(
                tracked,
                request,
                {tracked.keys[group][position]: table.numbers(position, position + 1)[0]},
                {},
            )
            if job is not None:
                self.guard(job, job.blocks.values())
                jobs.append(job)
            else:
                self._tier.changes += 1  # it is not tried again: this step is like no other
        return jobs

    def of_scheduled(self, request: ActiveRequest, tokens: int) -> TransferJob | None:
        """Store the chunks that are full, and known, once this step has run and were not considered yet."""
        tracked = self._requests.track(request)
        if self._prompt_only and tracked.has_considered(request.prompt_tokens):
            return None
        tracked.follow(request.tables)
        job = self._store(tracked, request, min(request.computed + tokens, request.num_tokens))
        if job is not None:
            full = self._cache.full_group
            self.guard(job, [block for (_, group), block in job.blocks.items() if group != full])
        return job

    def of_ended(self, request: ActiveRequest, tokens: int) -> TransferJob | None:
        """Store what is left of a request that ended."""
        tracked = self._requests.track(request)
        job = self._store(tracked, request, tokens, ended=True)
        if job is not None:
            self.guard(job, job.blocks.values())
        return job

    def _store(
        self, tracked: OffloadState, request: ActiveRequest, tokens: int, *, ended: bool = False
    ) -> TransferJob | None:
        """Begin to write the absent keys, all or nothing: without room the next step tries again."""
        storable = min(tokens, request.prompt_tokens) if self._prompt_only else tokens
        # While tokens are generated, drafts that are rejected write to the last block again.
        late = (
            self._cache.drafts.drops_last_block
            and storable > request.prompt_tokens
            and self._progress.leaves_last(ended=ended)
        )
        ends = tracked.storable_ends(storable, late=late)
        if ends is None:
            return None
        tracked.extend_keys(request.block_ids, request.hashed_tokens)
        sources = tracked.sources(
            ends,
            self._cache.full_group,
            self._read,
            drops_last_block=self._cache.drafts.drops_last_block,
            left_out=self._jobs.left_out,
        )
        failed = self.failed
        job = self._offer(tracked, request, sources, self._parents(tracked, ends))
        if self.failed == failed:
            tracked.consider(ends)
        return job

    def _offer(
        self,
        tracked: OffloadState,
        request: ActiveRequest,
        sources: dict[Key, int],
        parents: dict[Key, int | None],
    ) -> TransferJob | None:
        """Begin to write the absent ones of some keys; None if there is none, or no room."""
        room = self._recency.store(tracked, [*sources]) if sources else ([], [])
        if room is None:
            self.failed += 1
            return None
        fresh, evicted = room
        if not fresh:
            return None
        self._events += removed_events(self._tier.name, evicted)
        self._recency.stored(tracked)
        return self._requests.new_job(request, False, {key: sources[key] for key in fresh}, parents)

    def _parents(self, tracked: OffloadState, ends: Sequence[int]) -> dict[Key, int | None]:
        """Return the hash before each full-attention key that is considered now."""
        full = self._cache.full_group
        if full is None:
            return {}
        keys, start, end = tracked.keys[full], tracked.considered[full], ends[full]
        before: list[int | None] = [*keys.blocks[max(start - 1, 0) : end - 1]] if start < end else []
        return dict(zip(keys[start:end], before if start else [None, *before], strict=True))

    def readers_of(self, taken: Iterable[int]) -> set[int]:
        """Stores that read one of these blocks and must be finished first."""
        pending = self._pending_sources
        if not pending:
            return set()
        return {job_id for block in taken for job_id in pending.get(block, ())}

    def guard(self, job: TransferJob, blocks: Iterable[int]) -> None:
        """From now on a store must be finished before one of these blocks is taken."""
        for block in blocks:
            self._pending_sources.setdefault(block, set()).add(job.job_id)

    def unguard(self, job: TransferJob) -> None:
        """A store is done: its blocks may be taken."""
        for block in job.blocks.values():
            pending = self._pending_sources.get(block)
            if pending is not None:
                pending.discard(job.job_id)
                if not pending:
                    del self._pending_sources[block]
