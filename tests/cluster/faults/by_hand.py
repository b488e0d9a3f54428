"""Small clusters on which one thing breaks, with times that can be worked out by hand."""

from sim.simulation.run import summary_of
from tests.cluster.test_disaggregated import FAST_LINKS
from tests.clusters import Pace, rows, run_cluster, scenario, trace, turn

LAW = Pace(0.010, 0.001)
ROUND_ROBIN = {"policy": "round-robin"}


def play(requests, *faults, engine=None, **sections):
    """Two workers in turn, one step after another."""
    settings = scenario(
        engine={"async_scheduling": False} | (engine or {}),
        **{"router": ROUND_ROBIN} | sections,
        faults=list(faults),
    )
    return run_cluster(settings, requests, LAW)


def two():
    """A prompt of 16 tokens (26 ms) and four more tokens (11 ms each) for either worker: done after 70 ms."""
    return trace(turn(0, 16, 5, [1], "a"), turn(0, 16, 5, [2], "b"))


def by_index(cluster):
    return sorted(rows(cluster), key=lambda row: row["index"])


def only(cluster):
    (fault,) = summary_of(cluster)["faults"]
    return fault


def pair(requests, *faults, decode=1, **sections):
    """One prefill worker, and decode workers that it is joined with."""
    joined = sections.pop("disaggregation", {})
    settings = scenario(
        workers={"count": None, "prefill": 1, "decode": decode},
        disaggregation={"network": FAST_LINKS, **joined},
        faults=list(faults),
        **sections,
    )
    return run_cluster(settings, requests, Pace())
