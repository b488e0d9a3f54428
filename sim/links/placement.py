"""Which node each worker of a disaggregated deployment stands on: decides which link a KV transfer takes.

An engine of several GPUs has them on one node, or, if it has more than a node has, on whole nodes of its own;
what it sends then leaves from the first.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Self

from pydantic import model_validator

from sim.base.bounds import Count, CountOrZero
from sim.base.errors import InputError
from sim.base.settings import Settings
from sim.base.words import exactly
from sim.hardware.parallel import Engines, Parallel


class PlacementSettings(Settings):
    """Nodes of the workers."""

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
    """The node of every rank."""

    prefill: tuple[int, ...]
    decode: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every rank, those of prefill workers first: a `Network`'s workers."""
        return self.prefill + self.decode


def place(settings: PlacementSettings, prefill: Engines, decode: Engines) -> Placement:
    """Return where the ranks of the workers stand.

    Raises:
        InputError: the nodes given are not one for each worker, leave a node out, or have too few GPUs.
    """
    size = settings.gpus_per_node
    if settings.prefill_nodes is None or settings.decode_nodes is None:
        node, used = 0, 0
        nodes: list[int] = []
        for engine in [prefill.parallel] * prefill.count + [decode.parallel] * decode.count:
            if used and used + engine.gpus > size:
                node, used = node + -(-used // size), 0
            nodes.append(node)
            used += engine.gpus
        first, then = nodes[: prefill.count], nodes[prefill.count :]
    else:
        _check_length("prefill", settings.prefill_nodes, prefill.count)
        _check_length("decode", settings.decode_nodes, decode.count)
        first, then = [*settings.prefill_nodes], [*settings.decode_nodes]
        _check_nodes(first, prefill.parallel.gpus, then, decode.parallel.gpus, size)
    return Placement(_of_ranks(first, prefill.parallel, size), _of_ranks(then, decode.parallel, size))


def _of_ranks(nodes: Sequence[int], parallel: Parallel, gpus_per_node: int) -> tuple[int, ...]:
    """Return the node of the first GPU of every rank, from that of every engine."""
    return tuple(
        node + rank * parallel.gpus_per_rank // gpus_per_node
        for node in nodes
        for rank in range(parallel.data)
    )


def _check_length(pool: str, nodes: Sequence[int], workers: int) -> None:
    if len(nodes) != workers:
        raise InputError(
            f"disaggregation.placement.{pool}_nodes = {list(nodes)}: {exactly(len(nodes), 'node')} for "
            f"{workers} {pool} workers; give each one"
        )


def _check_nodes(
    prefill: Sequence[int], prefill_gpus: int, decode: Sequence[int], decode_gpus: int, gpus_per_node: int
) -> None:
    """Check nodes that were given, an engine each, with the GPUs of an engine."""
    gpus = Counter[int]()
    for node, count in [(node, prefill_gpus) for node in prefill] + [(node, decode_gpus) for node in decode]:
        # More than a node has goes on to the nodes behind it.
        for further in range(-(-count // gpus_per_node)):
            gpus[node + further] += min(gpus_per_node, count - further * gpus_per_node)
    last = max(gpus)
    for node in range(last + 1):
        if node not in gpus:
            raise InputError(
                f"disaggregation.placement: node {last} has a worker and node {node} has none; "
                "nodes are numbered from 0 without gaps"
            )
        if gpus[node] > gpus_per_node:
            raise InputError(
                f"disaggregation.placement: the workers of node {node} have {gpus[node]} GPUs and the node "
                f"has {gpus_per_node} (gpus_per_node); give other nodes, or leave prefill_nodes and "
                "decode_nodes out (none) to fill nodes in order"
            )
