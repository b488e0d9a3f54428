"""vLLM's OffloadingConnector: what is copied to a tier, what returns, and when a copy is forced.

A chunk is one engine block. Stores are planned with each step, loads at admission; both are jobs that
somebody else carries out and reports with `complete`. Source blocks of a store are not pinned: when one is
taken for other content before the copy is done, the job must be finished before the step runs (a flush).

Only the first tier exchanges blocks with the GPU; `sim.engine.lower_tiers` says what goes on from there.
"""

from collections.abc import Iterable, Sequence

from sim.engine.active import ActiveRequest
from sim.engine.lower_tiers import LowerTiers
from sim.engine.offload_state import OffloadState
from sim.engine.rule_set import DEFAULT, RULES, RuleSet
from sim.engine.rules.sync_loads import SyncLoads
from sim.engine.rules.tier_progress import tier_progress
from sim.engine.rules.tier_recency import tier_recency
from sim.engine.rules.tier_stores import tier_stores
from sim.engine.transfer_job import TransferJob, TransferJobs
from sim.kv.events import KvEvent
from sim.kv.groups import blocks_for
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key
from sim.kv.offload import OffloadTier
from sim.kv.peer_tier import PeerTier
from sim.kv.runs import BlockRuns
from sim.kv.tier_events import removed_events, stored_events
from sim.kv.tier_hit import TierSearch, read_blocks


class OffloadingConnector:
    """The connector of one engine, whose tiers are asked in order.

    `prompt_only`: blocks of generated tokens are not stored (default). `sync_loads`: what may be loaded
    within a step; None: nothing.
    """

    def __init__(
        self,
        cache: KvCache,
        tiers: Sequence[OffloadTier],
        *,
        prompt_only: bool = True,
        rules: RuleSet = RULES[DEFAULT],
        sync_loads: SyncLoads | None = None,
    ) -> None:
        self.tiers = [*tiers]
        self.tier = tiers[0]
        """The first."""
        self.events: list[KvEvent] = []
        """Events of all tiers that nobody has taken."""
        self.failed_stores = 0
        """Calls that found no room in the first tier (vllm:kv_offload_allocation_failure)."""
        self._jobs = TransferJobs()
        self.jobs = self._jobs.under_way
        """Jobs planned and not yet reported complete."""
        self.ended: list[tuple[ActiveRequest, int]] = []
        """Requests that ended since the last step, and how many of their tokens may be stored.

        vLLM walks a Python set here: if several end at once, which of them stores first is arbitrary.
        """
        cache.pool.number_blocks()
        self._cache = cache
        self._prompt_only = prompt_only
        self._sync_loads = sync_loads
        self._recency = tier_recency(rules.tier_recency, tiers, cache.specs)
        self._progress = tier_progress(rules.tier_progress)
        self._stores = tier_stores(rules.tier_stores, cache)
        self._tracked: dict[int, OffloadState] = {}
        self._pending_sources: dict[int, set[int]] = {}
        """Block to the stores that read it and must be finished when it is taken."""
        below = self.tiers[1:]
        search = self._search = TierSearch(cache.specs, drops_last_block=cache.drafts.drops_last_block)
        self._read = [read_blocks(spec) for spec in cache.specs]
        self._partial = [group for group, read in enumerate(self._read) if read is not None]
        """Groups of which a hit reads only the end: their blocks can be taken before a request ends."""
        self._peers = [tier for tier in below if isinstance(tier, PeerTier)]
        self._lower: LowerTiers | None = None
        if below:
            self._lower = LowerTiers(
                self.tier,
                below,
                search=search,
                full_group=cache.full_group,
                full_tokens=cache.block_tokens,
                jobs=self._jobs,
                events=self.events,
            )

    @property
    def changes(self) -> int:
        """Changes of what the tiers hold: see `OffloadTier`."""
        return sum([tier.changes for tier in self.tiers]) + sum([peers.peer_changes for peers in self._peers])

    # -- admission ------------------------------------------------------------------------------------------

    def lookup(self, request: ActiveRequest, local_tokens: int) -> int | None:
        """Tokens the tiers add to a local hit; None: ask again later.

        "Later" is the answer while the request has transfers of its own.
        """
        tracked = self._track(request)
        self._progress.looked_up(tracked)
        for blocks in tracked.blocks:
            blocks.clear()
        if tracked.jobs:
            return None
        tracked.extend_keys(request.block_ids, request.hashed_tokens)
        limit = self._limit(request.num_tokens)
        if self._lower is None:
            end = self._search.end(self.tier, tracked.keys, local_tokens, limit)
        else:
            end = self._lower.hit(request.request_id, tracked.keys, local_tokens, limit)
        tracked.hit_tokens = local_tokens if end is None else end
        self._recency.looked_up(tracked)
        found = None if end is None else end - local_tokens
        if self._sync_loads is not None:
            self._sync_loads.found(request.request_id, found or 0, request.num_tokens - local_tokens)
        return found

    def loads_now(self, request: ActiveRequest) -> bool:
        """Whether what its look-up found is loaded within the step that admits a request."""
        return self._sync_loads is not None and self._sync_loads.takes(request.request_id)

    def would_add(self, block_ids: BlockRuns, tokens: int, hashed_tokens: int, local_tokens: int) -> int:
        """Tokens that the tiers would add to a local hit of a new prompt; touches nothing.

        What is on its way to the first tier counts as there: the request would wait for it. So does what a
        tier below has, though the first may have no room for it.
        """
        asked = OffloadState(self._cache.specs)
        asked.extend_keys(block_ids, hashed_tokens)
        state = self.tier.state if self._lower is None else self._lower.state(asked.keys, local_tokens)
        return self._search.reach(state, asked.keys, local_tokens, self._limit(tokens)) - local_tokens

    def _limit(self, tokens: int) -> int:
        """Return where a hit of so many known tokens ends at the latest."""
        if self._partial:
            tokens -= 1  # a load brings no state, and no window, from which the last token could start again
        if self._cache.recurrent:
            tokens -= tokens % self._cache.block_tokens
        return tokens

    def start_load(self, request: ActiveRequest, local_tokens: int, external_tokens: int) -> TransferJob:
        """Read what `lookup` promised into the blocks that were allocated for it."""
        tracked, now = self._track(request), self.loads_now(request)
        blocks: dict[Key, int] = {}
        for group, (spec, table) in enumerate(zip(self._cache.specs, request.tables, strict=True)):
            stop = blocks_for(local_tokens + external_tokens, spec.block_tokens)
            tracked.considered[group] = stop
            # What is loaded within the step has been made findable already.
            fresh = table.first_block(local_tokens // spec.block_tokens) if now else table.registered
            first = min(fresh, stop)
            blocks.update(zip(tracked.keys[group][first:stop], table.numbers(first, stop), strict=True))
        if now:
            self.tier.pin(blocks)
        else:
            self.tier.load(blocks)
        self._recency.loads(tracked, [*blocks])
        job = self._new_job(request, True, blocks, {})
        job.now = now
        return job

    # -- each step ------------------------------------------------------------------------------------------

    def plan(
        self, scheduled: Iterable[tuple[ActiveRequest, int]], preempted: Iterable[ActiveRequest]
    ) -> tuple[list[TransferJob], list[int]]:
        """Return (stores, flushes) of a step that schedules so many tokens of each request.

        Flushes are the jobs that must end before the step runs: a source block was taken, or the request was
        preempted.
        """
        taken = set(self._cache.pool.taken)
        if taken and self._partial:
            for tracked in self._tracked.values():
                tracked.lose(taken, self._partial)
        flushes = self._readers_of(taken)
        for request in preempted:
            flushes |= self._track(request).jobs
        stores = self._store_states()
        for request, tokens in scheduled:
            job = self._store_scheduled(request, tokens)
            if job is not None:
                stores.append(job)
        for request, tokens in self.ended:
            job = self._store_ended(request, tokens)
            if job is not None:
                stores.append(job)
                flushes |= self._readers_of(taken) & {job.job_id}
        for request, _ in self.ended:
            tracked = self._track(request)
            self._recency.ended(tracked)
            tracked.ended = True
            self._forget_if_over(request.request_id)
        self.ended.clear()
        if self._sync_loads is not None:
            self._sync_loads.begin_step()
        return stores, sorted(flushes)

    def _store_states(self) -> list[TransferJob]:
        """Store states by themselves that have become findable, of requests that still have their blocks."""
        jobs: list[TransferJob] = []
        for table, group, position in self._stores.take_offers():
            tracked = self._tracked.get(table.request_id)
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
                self._guard(job, job.blocks.values())
                jobs.append(job)
            else:
                self.tier.changes += 1  # it is not tried again: this step is like no other
        return jobs

    def _readers_of(self, taken: Iterable[int]) -> set[int]:
        """Stores that read one of these blocks and must be finished first."""
        pending = self._pending_sources
        if not pending:
            return set()
        return {job_id for block in taken for job_id in pending.get(block, ())}

    def _store_scheduled(self, request: ActiveRequest, tokens: int) -> TransferJob | None:
        """Store the chunks that are full, and known, once this step has run and were not considered yet."""
        tracked = self._track(request)
        if self._prompt_only and tracked.has_considered(request.prompt_tokens):
            return None
        tracked.follow(request.tables)
        job = self._store(tracked, request, min(request.computed + tokens, request.num_tokens))
        if job is not None:
            full = self._cache.full_group
            self._guard(job, [block for (_, group), block in job.blocks.items() if group != full])
        return job

    def _store_ended(self, request: ActiveRequest, tokens: int) -> TransferJob | None:
        """Store what is left of a request that ended."""
        tracked = self._track(request)
        job = self._store(tracked, request, tokens, ended=True)
        if job is not None:
            self._guard(job, job.blocks.values())
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
            left_out=self._stores.left_out,
        )
        failed = self.failed_stores
        job = self._offer(tracked, request, sources, self._parents(tracked, ends))
        if self.failed_stores == failed:
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
            self.failed_stores += 1
            return None
        fresh, evicted = room
        if not fresh:
            return None
        self.events += removed_events(self.tier.name, evicted)
        self._recency.stored(tracked)
        return self._new_job(request, False, {key: sources[key] for key in fresh}, parents)

    def _parents(self, tracked: OffloadState, ends: Sequence[int]) -> dict[Key, int | None]:
        """Return the hash before each full-attention key that is considered now."""
        full = self._cache.full_group
        if full is None:
            return {}
        keys, start, end = tracked.keys[full], tracked.considered[full], ends[full]
        before: list[int | None] = [*keys.blocks[max(start - 1, 0) : end - 1]] if start < end else []
        return dict(zip(keys[start:end], before if start else [None, *before], strict=True))

    def moves(self) -> list[TransferJob]:
        """Return the copies between tiers that begin with this step."""
        return self._lower.take_planned() if self._lower is not None else []

    # -- ends -----------------------------------------------------------------------------------------------

    def finished(self, request: ActiveRequest, *, aborted: bool = False) -> None:
        """The request ends: from now on its attention blocks can be taken too.

        What was not stored yet is tried once more in the next step; of an aborted request, what it computed.
        """
        tracked = self._track(request)
        known = self._progress.of_ended(request)
        if aborted:
            known = min(request.computed, request.num_tokens)
        self.ended.append((request, known))
        for job in [self.jobs[job_id] for job_id in tracked.jobs]:
            if not job.load:  # one within a step may not have been reported yet
                self._guard(job, job.blocks.values())

    def complete(self, job_id: int, order: Sequence[Key] | None = None) -> TransferJob:
        """A job is done. `order` is the order in which its keys become idle; by default the planned one.

        vLLM walks a Python set there, so the real order is arbitrary; it matters only under eviction.
        """
        job = self.jobs.pop(job_id)
        if not job.of_gpu:
            assert self._lower is not None
            self._lower.ended(job)
            return job
        keys = list(job.blocks) if order is None else order
        self._tracked[job.request_id].jobs.discard(job_id)
        self._forget_if_over(job.request_id)
        if job.load:
            if job.now:
                self.tier.unpin(keys)
            else:
                self.tier.loaded(keys)
            return job
        self.tier.stored(keys)
        self.events += stored_events(self.tier.name, keys, job.parents)
        self._unguard(job)
        if self._lower is not None:
            self._lower.stored(job, keys)
        return job

    # -- bookkeeping ----------------------------------------------------------------------------------------

    def _guard(self, job: TransferJob, blocks: Iterable[int]) -> None:
        for block in blocks:
            self._pending_sources.setdefault(block, set()).add(job.job_id)

    def _unguard(self, job: TransferJob) -> None:
        for block in job.blocks.values():
            pending = self._pending_sources.get(block)
            if pending is not None:
                pending.discard(job.job_id)
                if not pending:
                    del self._pending_sources[block]

    def _track(self, request: ActiveRequest) -> OffloadState:
        tracked = self._tracked.get(request.request_id)
        if tracked is None:
            tracked = self._tracked[request.request_id] = OffloadState(self._cache.specs, request)
        return tracked

    def _forget_if_over(self, request_id: int) -> None:
        tracked = self._tracked[request_id]
        if tracked.ended and not tracked.jobs:
            del self._tracked[request_id]

    def _new_job(
        self, request: ActiveRequest, load: bool, blocks: dict[Key, int], parents: dict[Key, int | None]
    ) -> TransferJob:
        job = self._jobs.add(request.request_id, load, blocks, parents, tier=self.tier.name, of_gpu=True)
        self._track(request).jobs.add(job.job_id)
        return job
