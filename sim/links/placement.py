"""Which node each worker of a disaggregated deployment stands on: decides which link a KV transfer takes."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Self

from pydantic import model_validator

from sim.base.bounds import Count, CountOrZero
from sim.base.errors import InputError
from sim.base.settings import Settings


class PlacementSettings(Settings):
    """Nodes of the workers, each worker on a GPU of its own."""

    gpus_per_node: Count = 4
    """GPUs of a node: the talk's nodes have 4."""
    prefill_nodes: tuple[CountOrZero, ...] | None = None
    """The node of each prefill worker, from 0. Unset: nodes are filled in order, prefill workers first."""
    decode_nodes: tuple[CountOrZero, ...] | None = None
    """The node of each decode worker; given if `prefill_nodes` is."""

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.prefill_nodes is None) != (self.decode_nodes is None):
            given, missing = "prefill_nodes", "decode_nodes"
            if self.prefill_nodes is None:
                given, missing = missing, given
            raise ValueError(
                f"{given} is given without {missing}: give both, or neither to fill nodes in order"
            )
        return self


class Placement(NamedTuple):
    """The node of every worker."""

    prefill: tuple[int, ...]
    decode: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every worker, the prefill workers first: a `Network`'s workers."""
        return self.prefill + self.decode


def place(settings: PlacementSettings, prefill_workers: int, decode_workers: int) -> Placement:
    """Return where the workers stand.

    Raises:
        InputError: the nodes given are not one for each worker, leave a node out, or have too few GPUs.
    """
    if settings.prefill_nodes is None or settings.decode_nodes is None:
        workers = range(prefill_workers + decode_workers)
        nodes = tuple(worker // settings.gpus_per_node for worker in workers)
        return Placement(nodes[:prefill_workers], nodes[prefill_workers:])
    _check_length("prefill", settings.prefill_nodes, prefill_workers)
    _check_length("decode", settings.decode_nodes, decode_workers)
    placement = Placement(settings.prefill_nodes, settings.decode_nodes)
    _check_nodes(placement.nodes, settings.gpus_per_node)
    return placement


def _check_length(pool: str, nodes: Sequence[int], workers: int) -> None:
    if len(nodes) != workers:
        raise InputError(
            f"disaggregation.placement.{pool}_nodes = {list(nodes)}: {len(nodes)} nodes for "
            f"{workers} {pool} workers; give each one"
        )


def _check_nodes(nodes: Sequence[int], gpus_per_node: int) -> None:
    count = Counter(nodes)
    for node in range(max(nodes) + 1):
        if node not in count:
            raise InputError(
                f"disaggregation.placement: node {max(nodes)} has a worker and node {node} has none; "
                "nodes are numbered from 0 without gaps"
            )
        if count[node] > gpus_per_node:
            raise InputError(
                f"disaggregation.placement: {count[node]} workers stand on node {node}, which has "
                f"{gpus_per_node} GPUs (gpus_per_node); each worker needs one"
            )
