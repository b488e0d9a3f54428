"""What transfers between workers go over."""

from typing import Protocol

from sim.hardware.capacity import Capacity
from sim.links.network import LinkUse, Network
from sim.links.placement import place
from sim.links.pull_shape import PullShape, pull_shape
from sim.scenario.scenario import Scenario


class Transport(Protocol):
    """What transfers between workers go over: says when each is done. See `Network`."""

    def start(
        self,
        transfer_id: int,
        n_bytes: int,
        descriptors: int,
        source: int,
        target: int,
        *,
        now_s: float,
        of_host: bool = False,
        posting_s: float | None = None,
    ) -> None:
        """Start a transfer between two workers' GPUs, or between their host memories.

        `posting_s`: how long its descriptors take to be posted; None: as long as it takes them.
        """

    def cancel(self, transfer_id: int, *, now_s: float) -> None:
        """Stop a transfer: nothing of it is counted but the time that links were busy with it."""

    def next_s(self) -> float:
        """Return when to call `finish` if nothing is started before; infinity if nothing is under way."""

    def finish(self, now_s: float) -> list[int]:
        """Return the transfers that ended since the last call."""

    def links(self, now_s: float) -> list[LinkUse]:
        """Return every link and what it carried until now."""


def network_of(scenario: Scenario) -> Network:
    """Return the links between a scenario's prefill and decode workers."""
    first, then = scenario.workers.first, scenario.workers.then
    nodes = place(scenario.disaggregation.placement, first, then).nodes
    gpus = [first.parallel.gpus_per_rank] * first.ranks + [then.parallel.gpus_per_rank] * then.ranks
    returns = scenario.disaggregation.return_kv is not None
    return Network(scenario.network(), nodes, gpus, joins_hosts=returns)


def pull_shape_of(scenario: Scenario, decode_capacity: Capacity) -> PullShape:
    """Return what a decode worker reads for one block."""
    workers, model = scenario.workers, scenario.model
    return pull_shape(
        workers.parallel,
        workers.decode_parallel,
        block_bytes=decode_capacity.block_bytes,
        layers=decode_capacity.block_layers,
        shared=model.latent is not None or workers.tensor_parallel > model.kv_heads,
    )
