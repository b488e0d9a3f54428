"""The tiers of workers: what a scenario says of them, and a cluster that is given one more."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cluster.build import Cluster
from sim.cluster.tiers import router_tiers, tiers_of
from sim.kv.offload import IDLE, ArcTier, LruTier
from sim.links.tier import Tier
from sim.links.transfer import LinkSettings
from sim.results.metrics import to_json
from sim.scenario.scenario import Scenario
from sim.scenario.sections import OffloadSettings
from sim.simulation.run import summary_of
from tests.cluster.tier_contract import EVICTED, TierContract
from tests.clusters import BLOCK_BYTES, HOST_BLOCK_BYTES, RandomCluster, rows, run_cluster, scenario

NVME = LinkSettings(bandwidth_bytes_per_s=4 * BLOCK_BYTES, latency_s=0, per_piece_s=0)
DISK = Tier("disk", LruTier, 100, NVME, NVME, "disk", "nvme")


def test_without_offload_there_is_none() -> None:
    without = scenario()
    assert tiers_of(without, without.capacity()) == ()


@pytest.mark.parametrize(("kv_events", "router_tier"), [("placeholder", None), ("self-describing", "host")])
def test_host_memory_is_a_tier_over_pcie(kv_events: str, router_tier: str | None) -> None:
    with_tier = scenario(
        offload={"cpu_bytes": 7 * HOST_BLOCK_BYTES, "eviction_policy": "arc", "kv_events": kv_events}
    )
    link = with_tier.host_link()
    assert tiers_of(with_tier, with_tier.capacity()) == (
        Tier("host", ArcTier, 7, link, link, router_tier, "pcie", 1),  # type: ignore[arg-type]
    )


def test_routers_hear_of_tiers_that_they_know() -> None:
    unseen = DISK._replace(name="store", router_tier=None)
    assert router_tiers([DISK, unseen]) == {"device": "device", "disk": "disk"}


class TestOneMore(TierContract):
    """A disk that is given to a cluster, and named nowhere in the sources."""

    name = "disk"
    more: ClassVar[Sequence[Tier]] = (DISK,)

    def tiers(self, of: Scenario) -> Sequence[Tier]:
        return (*super().tiers(of), *self.more)

    def test_when_what_happens(self) -> None:
        cluster = self.run(*EVICTED)
        again = rows(cluster)[2]
        # Two blocks come back from the disk in half a second, are loaded in two, and the rest is computed.
        assert (again["first_scheduled_s"], again["first_token_s"]) == (92.5, 93.5)
        assert (again["bound_tokens"], again["evicted_here_tokens"], again["credit_tokens"]) == (8, 0, 8)
        links = {(row["tier"], row["direction"]): row for row in rows(cluster, "links")}
        assert [*links] == [("host", "to_host"), ("host", "to_gpu"), ("disk", "to_disk"), ("disk", "to_host")]
        down, up = links["disk", "to_disk"], links["disk", "to_host"]
        assert (down["kind"], down["transfers"], down["busy_s"]) == ("nvme", 3, 7 / 4)
        assert (up["transfers"], up["busy_s"]) == (1, 0.5)

    def test_the_ledger_knows_what_only_the_disk_has(self) -> None:
        cluster = self.run(*EVICTED[:2])
        engine = cluster.workers[0].engine
        assert engine.offload is not None
        host, disk, *_ = engine.offload.tiers
        assert (host.used_blocks, disk.used_blocks) == (5, 7)
        assert engine.cache.lookup([0, 1], 40).tokens == 0
        assert [(host.state((block, 0)), disk.state((block, 0))) for block in (0, 1)] == [(None, IDLE)] * 2
        assert [*cluster.recorder._ledger._holders.where(0, 0, 2)] == [(0, 2, "here")]


class TestTwoMore(TestOneMore):
    """A third tier below, of which routers know nothing, takes nothing away from the second."""

    more = (DISK, DISK._replace(name="store", router_tier=None, link="network"))

    def test_when_what_happens(self) -> None:
        links = [row for row in rows(self.run(*EVICTED), "links") if row["tier"] == "store"]
        assert [(row["direction"], row["n_bytes"]) for row in links] == [
            ("to_store", 7 * BLOCK_BYTES),
            ("to_host", 0),
        ]


def pressed(seed: int, *, fast_forward: bool) -> Cluster:
    """One request at a time, whose prompt host memory has room for, over all three tiers."""
    random = RandomCluster(Random(seed))
    longest = max(request.prompt_tokens for request in random.trace.requests) // random.block_tokens
    blocks = (random.state_groups + 1) * (longest + 1)
    offload = random._offload() | {"cpu_bytes": HOST_BLOCK_BYTES * blocks}
    base = random.scenario
    under = base.model_copy(
        update={
            "offload": OffloadSettings.model_validate(offload),
            "replay": base.replay.model_copy(update={"client": "max-concurrency", "max_concurrency": 1}),
            "engine": base.engine.model_copy(update={"fast_forward": fast_forward}),
        }
    )
    tiers = (*tiers_of(under, under.capacity()), DISK._replace(blocks=3 * blocks))
    cluster = run_cluster(under, random.trace, random.law, tiers=tiers, check=True)
    assert cluster.recorder.ended == len(random.trace.requests)
    return cluster


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_every_rule_holds_with_a_disk_and_fast_forward_changes_nothing(seed: int) -> None:
    fast, slow = (pressed(seed, fast_forward=fast) for fast in (True, False))
    assert to_json(summary_of(fast)) == to_json(summary_of(slow))
    assert rows(fast, "links") == rows(slow, "links")
