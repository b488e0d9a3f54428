"""Tiers below the first, with cases of vLLM's tiering manager: host memory of few blocks, a disk below it.

A prompt is its blocks; every one is a key of the only group. Look-ups stand for those of one request each.
"""

from sim.engine.lower_tiers import LowerTiers
from sim.engine.transfer_job import TransferJob, TransferJobs
from sim.kv.events import KvEvent
from sim.kv.group_spec import even_groups
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, READING, WRITING, LruTier
from sim.kv.tier_hit import TierSearch

A, B = range(6), range(10, 16)


def keys(blocks: range) -> list[Key]:
    return [(block, 0) for block in blocks]


class Tiers:
    """The tiers of one engine, without the engine."""

    def __init__(self, host_blocks: int, *below: LruTier) -> None:
        self.host = LruTier(host_blocks)
        self.below = below or (LruTier(100, "disk"),)
        self.book = TransferJobs()
        self.events: list[KvEvent] = []
        self.lower = LowerTiers(
            self.host,
            self.below,
            search=TierSearch(even_groups(1)),
            full_group=0,
            full_tokens=16,
            jobs=self.book,
            events=self.events,
        )

    def store(self, blocks: range) -> list[TransferJob]:
        """Let a store of a prompt begin and end; return the copies that follow."""
        room = self.host.store(keys(blocks))
        assert room is not None
        fresh, evicted = room
        self.events += [KvEvent(False, 0, None, [block for block, _ in evicted], "host")]
        parents = {(block, 0): block - 1 if block > blocks.start else None for block in blocks}
        job = self.book.add(0, False, dict.fromkeys(fresh, 7), parents, tier="host", of_gpu=True)
        del self.book.under_way[job.job_id]
        self.host.stored(fresh)
        self.lower.stored(job, fresh)
        return self.lower.take_planned()

    def end(self, *jobs: TransferJob) -> None:
        for job in jobs:
            del self.book.under_way[job.job_id]
            self.lower.ended(job)

    def ask(self, blocks: range, request_id: int = 1) -> int | None:
        return self.lower.hit(request_id, [keys(blocks)], 0, len(blocks))

    def told(self) -> list[tuple[str, bool, list[int]]]:
        """Tier, stored or removed, and blocks of the events since this was last asked, those alike as one."""
        found: list[tuple[str, bool, list[int]]] = []
        for event in self.events:
            if found and found[-1][:2] == (event.tier, event.stored):
                found[-1][2].extend(event.blocks)
            elif event.blocks:
                found.append((event.tier, event.stored, [*event.blocks]))
        self.events.clear()
        return found


def test_what_was_stored_is_copied_on_and_outlives_the_first_tier() -> None:
    tiers = Tiers(8)
    tiers.end(*tiers.store(A))
    tiers.end(*tiers.store(B))
    assert (tiers.host.used_blocks, tiers.below[0].used_blocks) == (8, 12)
    assert tiers.told() == [
        ("disk", True, [*A]),
        ("host", False, [*A[:4]]),
        ("disk", True, [*B]),
    ]


def test_a_copy_is_one_job_with_the_hash_before_each_key() -> None:
    tiers = Tiers(8)
    (job,) = tiers.store(A)
    assert (job.tier, job.load, job.of_gpu, list(job.blocks)) == ("disk", False, False, keys(A))
    tiers.end(job)
    assert [event.parent for event in tiers.events[1:]] == [None, 0, 1, 2, 3, 4]


def test_what_a_tier_below_has_already_is_not_copied_again() -> None:
    tiers = Tiers(6)
    tiers.end(*tiers.store(A))
    tiers.end(*tiers.store(B))
    assert tiers.store(A) == []
    assert tiers.below[0].used_blocks == 12


def test_what_is_being_copied_on_is_not_evicted_before_the_slowest_copy_has_ended() -> None:
    tiers = Tiers(4, LruTier(100, "disk"), LruTier(100, "store"))
    fast, slow = tiers.store(A[:4])
    assert (fast.tier, slow.tier) == ("disk", "store")
    assert tiers.host.store(keys(B[:2])) is None
    tiers.end(fast)
    assert tiers.host.store(keys(B[:2])) is None
    tiers.end(slow)
    assert tiers.host.store(keys(B[:2])) == (keys(B[:2]), keys(A[:2]))


def test_a_tier_below_without_room_goes_without() -> None:
    tiers = Tiers(8, LruTier(4, "disk"))
    assert tiers.store(A) == []
    (job,) = tiers.store(B[:3])
    tiers.end(job)
    assert tiers.below[0].used_blocks == 3


def lower_only(host_blocks: int = 8) -> Tiers:
    """A is on the disk and B's first blocks have taken its place in host memory."""
    tiers = Tiers(host_blocks)
    tiers.end(*tiers.store(A[:4]))
    tiers.end(*tiers.store(range(20, 20 + host_blocks)))
    tiers.told()
    return tiers


def test_what_only_a_tier_below_has_comes_back_before_it_is_a_hit() -> None:
    tiers = lower_only()
    assert tiers.ask(A) is None
    assert tiers.told() == [("host", False, [20, 21, 22, 23])]
    (job,) = tiers.lower.take_planned()
    assert (job.tier, job.load, list(job.blocks), job.request_id) == ("disk", True, keys(A[:4]), 1)
    assert [tiers.host.state(key) for key in keys(A[:4])] == [WRITING] * 4
    assert [tiers.below[0].state(key) for key in keys(A[:4])] == [READING] * 4
    tiers.end(job)
    assert tiers.ask(A) == 4
    assert tiers.below[0].state((0, 0)) == IDLE
    assert [event.parent for event in tiers.events] == [None, 0, 1, 2]
    assert tiers.told() == [("host", True, [*A[:4]])]
    assert tiers.lower.take_planned() == []


def test_whoever_else_asks_waits_for_the_same_copy() -> None:
    tiers = lower_only()
    assert tiers.ask(A, 1) is None
    assert tiers.ask(A, 2) is None
    assert len(tiers.lower.take_planned()) == 1


def test_a_hit_goes_on_from_one_tier_to_the_next() -> None:
    tiers = Tiers(6, LruTier(2, "disk"), LruTier(100, "store"))
    tiers.end(*tiers.store(A[:2]))
    tiers.end(*tiers.store(A[2:4]))
    tiers.end(*tiers.store(range(20, 26)))
    assert tiers.below[0].used_blocks == 2
    assert tiers.ask(A) is None
    (one, two) = tiers.lower.take_planned()
    assert (one.tier, list(one.blocks)) == ("disk", keys(A[2:4]))
    assert (two.tier, list(two.blocks)) == ("store", keys(A[:2]))


def test_without_room_in_the_first_tier_it_is_a_miss() -> None:
    tiers = lower_only()
    tiers.host.load(keys(range(20, 28)))
    before = tiers.host.changes
    assert tiers.ask(A) == 0
    assert (tiers.lower.take_planned(), tiers.host.changes) == ([], before)


def test_what_is_still_being_copied_to_a_tier_below_is_not_there() -> None:
    tiers = Tiers(8)
    tiers.below[0].store(keys(A))
    assert tiers.ask(A) == 0
