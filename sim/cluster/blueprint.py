"""What a cluster is built to, before any part of it has a clock."""

from collections.abc import Sequence
from typing import NamedTuple

from sim.cluster.delays import Delays, constant_delays
from sim.cluster.hosts import Hosts, hosts_of
from sim.cluster.tiers import tiers_of
from sim.cluster.transport import pull_shape_of
from sim.cluster.worker_kinds import Capacities
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.kv.group_spec import GroupSpec, full_group
from sim.links.pull_shape import PullShape
from sim.links.tier import Tier
from sim.scenario.scenario import Scenario


class Blueprint(NamedTuple):
    """What all parts of a cluster are made from."""

    scenario: Scenario
    capacities: Capacities
    times: Coefficients
    """Of the scenario's step time and front door."""
    tiers: Sequence[Tier]
    """Below GPU memory of every worker that offloads, in the order in which they are asked."""
    groups: Sequence[GroupSpec]
    """The cache groups of every engine."""
    delays: Delays
    """Who says when."""
    hosts: Hosts | None
    """The threads that prompts keep busy; None: nothing waits for them."""

    @property
    def attention_group(self) -> int | None:
        """The number of the engines' full-attention group, if they have one."""
        return full_group(self.groups)

    @property
    def pull_shape(self) -> PullShape:
        """What a decode worker reads for one block."""
        return pull_shape_of(self.scenario, self.capacities.decode)


def draw(
    scenario: Scenario,
    capacity: Capacity,
    times: Coefficients,
    *,
    tiers: Sequence[Tier] | None,
    groups: Sequence[GroupSpec] | None,
    delays: Delays | None,
) -> Blueprint:
    """Return what a scenario's cluster is built to; None: as the scenario and its model say."""
    return Blueprint(
        scenario,
        Capacities(capacity, scenario.decode_capacity() if scenario.workers.decode else capacity),
        times,
        tiers_of(scenario, capacity) if tiers is None else tuple(tiers),
        tuple(groups or capacity.engine.layout.specs),
        delays or constant_delays(scenario.frontend, times.frontend),
        hosts_of(scenario, times),
    )
