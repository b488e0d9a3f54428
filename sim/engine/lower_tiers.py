"""Tiers below the first: what comes to them, and how it comes back (vLLM 0.28.0's TieringOffloadingSpec).

The first tier is the only door to GPU memory. What was stored in it is copied on to every tier below, and
none of it is evicted before the slowest of these copies is done. A key that it lacks is looked for below,
tier by tier: the first that has it gives it back. Room for it is taken in the first tier at once, and whoever
asked asks again later; without room it is a miss.

Nothing holds what came back until it is loaded: requests that wait for more than the first tier holds take it
from each other, for ever if nothing else happens, as in vLLM. Simpler than there: a tier knows at once what
it has, and what a worker's tiers hold ends with its process.
"""

from collections.abc import Sequence

from sim.engine.transfer_job import TransferJob, TransferJobs
from sim.kv.events import KvEvent
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, WRITING, OffloadTier
from sim.kv.peer_tier import PeerTier
from sim.kv.pool import NULL_BLOCK
from sim.kv.tier_events import removed_events, stored_events
from sim.kv.tier_hit import State, TierSearch


class LowerTiers:
    """What is `below` the `first` tier of one engine, in the order in which it is asked.

    `jobs` and `events` are the engine's; blocks of `full_group` have `full_tokens`.
    """

    def __init__(
        self,
        first: OffloadTier,
        below: Sequence[OffloadTier],
        *,
        search: TierSearch,
        full_group: int | None,
        full_tokens: int,
        jobs: TransferJobs,
        events: list[KvEvent],
    ) -> None:
        self._peers = [tier for tier in below if isinstance(tier, PeerTier)]
        self._full_tokens = full_tokens
        self._first = first
        self._below = [*below]
        self._search = search
        self._full_group = full_group
        self._jobs = jobs
        self._events = events
        self._planned: list[TransferJob] = []
        """Jobs that no step has taken along."""
        self._wanted: list[list[Key]] = [[] for _ in below]
        """What the look-up that goes on wants back from each."""

    def hit(self, request_id: int, keys: Sequence[Sequence[Key]], start: int, limit: int) -> int | None:
        """See `TierSearch`; what only a tier below has counts as being written, which begins."""
        attention = keys[self._full_group] if self._full_group is not None else ()
        for peers in self._peers:
            peers.aim(self._lacking(attention, start))
        end = self._search.end(self._first, keys, start, limit, self._state)
        for tier, wanted in zip(self._below, self._wanted, strict=True):
            if wanted:
                hashes = [key[0] for key in attention[:-1]]
                before: dict[Key, int | None] = dict(zip(attention, [None, *hashes], strict=True))
                parents = {key: before[key] for key in wanted if key in before}
                self._plan(request_id, True, tier, wanted, parents)
                wanted.clear()
        return end

    def state(self, keys: Sequence[Sequence[Key]], start: int) -> State:
        """Return what says which of a prompt's keys `hit` would find, in whatever tier; changes nothing."""
        attention = keys[self._full_group] if self._full_group is not None else ()
        lacking = self._lacking(attention, start)
        peers = [tier.most_of(lacking) if isinstance(tier, PeerTier) else tier for tier in self._below]
        below = [tier.state for tier in peers if tier is not None]

        def found(key: Key) -> int | None:
            if self._first.state(key) is not None:
                return IDLE
            there = [state(key) for state in below]
            return IDLE if any(each is not None and each >= IDLE for each in there) else None

        return found

    def _lacking(self, attention: Sequence[Key], start: int) -> Sequence[Key]:
        """Return a prompt's keys from the first behind `start` on that the first tier lacks."""
        behind, state = attention[start // self._full_tokens :], self._first.state
        there = 0
        for key in behind:
            if state(key) is None:
                break
            there += 1
        return behind[there:]

    def _state(self, key: Key) -> int | None:
        found = self._first.state(key)
        if found is not None:
            return found
        for tier, wanted in zip(self._below, self._wanted, strict=True):
            there = tier.state(key)
            if there is not None and there >= IDLE:
                room = self._first.store([key])
                if room is None:
                    return None
                self._events += removed_events(self._first.name, room[1])
                tier.pin([key])
                wanted.append(key)
                return WRITING
        return None

    def stored(self, job: TransferJob, keys: Sequence[Key]) -> None:
        """A store has ended: what the tiers below lack, and have room for, is copied on."""
        for tier in self._below:
            room = tier.store(keys)
            if room is None:
                continue
            fresh, evicted = room
            self._events += removed_events(tier.name, evicted)
            if fresh:
                self._first.pin(fresh)
                self._plan(job.request_id, False, tier, fresh, job.parents)

    def ended(self, job: TransferJob) -> None:
        """A copy between the first tier and one below has ended."""
        keys = list(job.blocks)
        (source,) = (tier for tier in self._below if tier.name == job.tier)
        target = self._first
        if not job.load:
            source, target = target, source
        source.unpin(keys)
        target.stored(keys)
        self._events += stored_events(target.name, keys, job.parents)

    def take_planned(self) -> list[TransferJob]:
        """Return the jobs planned since this was last asked."""
        planned, self._planned = self._planned, []
        return planned

    def _plan(
        self,
        request_id: int,
        load: bool,
        tier: OffloadTier,
        keys: Sequence[Key],
        parents: dict[Key, int | None],
    ) -> None:
        blocks = dict.fromkeys(keys, NULL_BLOCK)
        job = self._jobs.add(request_id, load, blocks, parents, tier=tier.name, of_gpu=False)
        if isinstance(tier, PeerTier):
            job.peer = tier.source
        self._planned.append(job)
