"""What every tier below host memory keeps, in clusters that have it. A test of a tier inherits it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sim.cluster.build import Cluster
from sim.cluster.tiers import tiers_of
from sim.links.tier import Tier
from sim.results.metrics import to_json
from sim.scenario.scenario import Scenario
from sim.simulation.run import summary_of
from sim.workload.request import Request
from tests.clusters import BLOCK_BYTES, HOST_BLOCK_BYTES, rows, run_cluster, scenario, trace, turn

HOST_BLOCKS = 5
EVICTED = (
    turn(0, 40, 9, [1, 2, 3]),
    turn(20, 80, 9, range(10, 15), "other"),  # all of the GPU's pool and of host memory
    turn(90, 40, 9, [1, 2, 3]),
)
"""A prompt that comes again when neither GPU nor host memory has any of it."""
AGAIN = (
    *EVICTED,
    turn(91, 24, 30, [40, 41], "c"),
    turn(200, 80, 30, range(10, 15), "other"),
    turn(300, 40, 9, [1, 2, 3]),
)


class TierContract:
    name: ClassVar[str]
    offload: ClassVar[Mapping[str, Any]] = {}
    """What `[offload]` says for the tier to be there, beside what it says of host memory."""

    def tiers(self, of: Scenario) -> Sequence[Tier]:
        """Return the tiers of a scenario."""
        return tiers_of(of, of.capacity())

    def run(self, *turns: Request, fast_forward: bool = True) -> Cluster:
        """Run one worker whose blocks are 16 tokens and take a second each to and from host memory."""
        link = {"bandwidth_bytes_per_s": BLOCK_BYTES, "latency_s": 0, "per_piece_s": 0}
        host = {"cpu_bytes": HOST_BLOCKS * HOST_BLOCK_BYTES, "kv_events": "self-describing", "link": link}
        settings = scenario(
            workers={"count": 1},
            engine={"kv_blocks": 6, "fast_forward": fast_forward},
            output={"tables": ["decisions", "workers"]},
            offload=host | dict(self.offload),
        )
        return run_cluster(settings, trace(*turns), tiers=self.tiers(settings), check=True)

    def test_it_comes_after_host_memory_and_is_called_by_its_name(self) -> None:
        names = [tier.name for tier in self.run(EVICTED[0]).tiers]
        assert names[0] == "host"
        assert names.count(self.name) == 1

    def test_a_prompt_that_nothing_above_has_is_loaded_from_it(self) -> None:
        cluster = self.run(*EVICTED)
        first, _, again = rows(cluster)
        assert (first["computed_prompt_tokens"], first["external_hit_tokens"]) == (40, 0)
        assert (again["computed_prompt_tokens"], again["external_hit_tokens"]) == (8, 32)
        # What it reads is in host memory first, from where two blocks take two seconds.
        assert again["first_token_s"] > 90 + 2 + 1

    def test_its_links_are_rows_of_their_own(self) -> None:
        found = [row for row in rows(self.run(*EVICTED), "links") if row["tier"] == self.name]
        assert [row["direction"] for row in found] == [f"to_{self.name}", "to_host"]
        assert [row["n_bytes"] for row in found] == [7 * BLOCK_BYTES, 2 * BLOCK_BYTES]
        assert all(row["kind"] != "pcie" for row in found)

    def test_its_filled_blocks_are_counted(self) -> None:
        cluster = self.run(*EVICTED)
        assert cluster.recorder.tiers[self.name][0].area(1000.0) > 0
        assert summary_of(cluster)["occupancy"][f"{self.name}_tier"]["max"] > 0

    def test_a_router_hears_of_it_what_it_says(self) -> None:
        cluster = self.run(*EVICTED)
        (tier,) = (tier for tier in cluster.tiers if tier.name == self.name)
        seen = [row["disk_blocks"] for row in rows(cluster, "decisions")]
        assert seen == [0, 0, 2 if tier.router_tier == "disk" else 0]

    def test_fast_forward_changes_nothing(self) -> None:
        fast, slow = (self.run(*AGAIN, fast_forward=fast) for fast in (True, False))
        assert to_json(summary_of(fast)) == to_json(summary_of(slow))
        for table in ("requests", "links", "workers", "decisions"):
            assert rows(fast, table) == rows(slow, table)
