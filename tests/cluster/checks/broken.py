"""Clusters that are made to break a rule in the middle of a run, and what is said of it."""

from collections.abc import Callable
from typing import Any

import pytest

from sim.base.errors import InvariantError
from sim.cluster.build import Cluster
from sim.events.clock import Phase
from sim.scenario.scenario import Scenario
from sim.workload.request import Trace
from tests.clusters import HOST_BLOCK_BYTES, build_cluster, scenario, trace, turn

FIVE = trace(
    turn(0, 64, 9, range(4), "a"),
    turn(1, 80, 30, (*range(4), 9), "b"),
    turn(2, 32, 9, (20, 21), "c"),
    turn(9, 96, 4, (*range(4), 9, 10), "b"),
    turn(40, 80, 2, (*range(4), 9), "d"),
)
"""Two of them run when something breaks at 6.5 s."""

OFFLOADING = {"cpu_bytes": 50 * HOST_BLOCK_BYTES}


def aggregated(**sections: object) -> Scenario:
    return scenario(**{"workers": {"count": 2}, "offload": OFFLOADING, **sections})


def build(
    settings: Scenario, requests: Trace = FIVE, *, check: bool | None = None, **options: Any
) -> Cluster:
    return build_cluster(settings, requests, check=check, **options)


def violation(
    breakage: Callable[[Cluster], object],
    settings: Scenario | None = None,
    at_s: float = 6.5,
    **options: Any,
) -> InvariantError:
    """Return what is found wrong in a run in which something is broken at a time."""
    cluster = build(settings or aggregated(), check=True, **options)

    def act() -> None:
        breakage(cluster)

    cluster.clock.at(at_s, Phase.ARRIVAL, 1 << 20, act)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    error = caught.value
    assert "\n" not in str(error)
    assert error.rule in str(error)
    return error


class Tampering:
    """Stands before another observer or outbox; a subclass tells it something else."""

    def __init__(self, other: object) -> None:
        self.other = other

    def __getattr__(self, name: str) -> object:
        return getattr(self.other, name)
