"""vLLM's OffloadingConnector: what is copied to a tier, what returns, and when a copy is forced.

A chunk is one engine block. Stores are planned with each step, loads at admission; both are jobs that
somebody else carries out and reports with `complete`. Source blocks of a store are not pinned: when one is
taken for other content before the copy is done, the job must be finished before the step runs (a flush).

Only the first tier exchanges blocks with the GPU; `sim.engine.lower_tiers` says what goes on from there.
"""

from collections.abc import Iterable, Sequence

from sim.engine.active import ActiveRequest
from sim.engine.lower_tiers import LowerTiers
from sim.engine.offload_state import OffloadBook, OffloadState
from sim.engine.rule_set import DEFAULT, RULES, RuleSet
from sim.engine.rules.sync_loads import SyncLoads
from sim.engine.rules.tier_progress import tier_progress
from sim.engine.rules.tier_recency import tier_recency
from sim.engine.rules.tier_stores import tier_stores
from sim.engine.stores import Stores
from sim.engine.transfer_job import TransferJob, TransferJobs
from sim.kv.events import KvEvent
from sim.kv.groups import blocks_for
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key
from sim.kv.offload import OffloadTier
from sim.kv.peer_tier import PeerTier
from sim.kv.runs import BlockRuns
from sim.kv.tier_events import stored_events
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
        self._jobs = TransferJobs()
        self.jobs = self._jobs.under_way
        """Jobs planned and not yet reported complete."""
        self.ended: list[tuple[ActiveRequest, int]] = []
        """Requests that ended since the last step, and how many of their tokens may be stored.

        vLLM walks a Python set here: if several end at once, which of them stores first is arbitrary.
        """
        cache.pool.number_blocks()
        self._cache = cache
        self._sync_loads = sync_loads
        self._recency = tier_recency(rules.tier_recency, tiers, cache.specs)
        self._progress = tier_progress(rules.tier_progress)
        self._requests = OffloadBook(cache.specs, self._jobs, self.tier.name)
        self.stores = Stores(
            cache,
            self.tier,
            self._requests,
            self.events,
            prompt_only=prompt_only,
            recency=self._recency,
            progress=self._progress,
            jobs=tier_stores(rules.tier_stores, cache),
        )
        below = self.tiers[1:]
        search = self._search = TierSearch(cache.specs, drops_last_block=cache.drafts.drops_last_block)
        self._partial = [group for group, spec in enumerate(cache.specs) if read_blocks(spec) is not None]
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

    @property
    def failed_stores(self) -> int:
        """Calls that found no room in the first tier (vllm:kv_offload_allocation_failure)."""
        return self.stores.failed

    # -- admission ------------------------------------------------------------------------------------------

    def lookup(self, request: ActiveRequest, local_tokens: int) -> int | None:
        """Tokens the tiers add to a local hit; None: ask again later.

        "Later" is the answer while the request has transfers of its own.
        """
        tracked = self._requests.track(request)
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
        tracked, now = self._requests.track(request), self.loads_now(request)
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
        job = self._requests.new_job(request, True, blocks, {})
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
            for tracked in self._requests.tracked.values():
                tracked.lose(taken, self._partial)
        flushes = self.stores.readers_of(taken)
        for request in preempted:
            flushes |= self._requests.track(request).jobs
        stores = self.stores.of_states()
        for request, tokens in scheduled:
            job = self.stores.of_scheduled(request, tokens)
            if job is not None:
                stores.append(job)
        for request, tokens in self.ended:
            job = self.stores.of_ended(request, tokens)
            if job is not None:
                stores.append(job)
                flushes |= self.stores.readers_of(taken) & {job.job_id}
        for request, _ in self.ended:
            tracked = self._requests.track(request)
            self._recency.ended(tracked)
            tracked.ended = True
            self._requests.forget_if_over(request.request_id)
        self.ended.clear()
        if self._sync_loads is not None:
            self._sync_loads.begin_step()
        return stores, sorted(flushes)

    def moves(self) -> list[TransferJob]:
        """Return the copies between tiers that begin with this step."""
        return self._lower.take_planned() if self._lower is not None else []

    # -- ends -----------------------------------------------------------------------------------------------

    def finished(self, request: ActiveRequest, *, aborted: bool = False) -> None:
        """The request ends: from now on its attention blocks can be taken too.

        What was not stored yet is tried once more in the next step; of an aborted request, what it computed.
        """
        tracked = self._requests.track(request)
        known = self._progress.of_ended(request)
        if aborted:
            known = min(request.computed, request.num_tokens)
        self.ended.append((request, known))
        for job in [self.jobs[job_id] for job_id in tracked.jobs]:
            if not job.load:  # one within a step may not have been reported yet
                self.stores.guard(job, job.blocks.values())

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
        self._requests.tracked[job.request_id].jobs.discard(job_id)
        self._requests.forget_if_over(job.request_id)
        if job.load:
            if job.now:
                self.tier.unpin(keys)
            else:
                self.tier.loaded(keys)
            return job
        self.tier.stored(keys)
        self.events += stored_events(self.tier.name, keys, job.parents)
        self.stores.unguard(job)
        if self._lower is not None:
            self._lower.stored(job, keys)
        return job
