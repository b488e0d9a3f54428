"""The workers of a cluster: each of its kind, joined to what all of them share."""

from functools import partial
from typing import NamedTuple

from sim.cluster.api_server import ApiServer
from sim.cluster.blueprint import Blueprint
from sim.cluster.engine_loop import EngineLoop, engine_loop
from sim.cluster.faults.scene import Scene
from sim.cluster.observer import Observer
from sim.cluster.outbox import Outbox
from sim.cluster.returns import Returns
from sim.cluster.worker import Worker
from sim.cluster.worker_kinds import WorkerKind, make_engine
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.links.tier_links import TierLinks


class Workplace(NamedTuple):
    """What all workers of a cluster share."""

    plan: Blueprint
    clock: Clock
    lazy_updates: LazyUpdates
    scene: Scene
    observer: Observer
    """Of each of them."""
    outbox: Outbox
    """Where they send what others must know."""
    returns: Returns | None
    """KV that flows back; None: none does."""
    tells_growth: bool
    """As `Engine` has it."""
    servers: dict[int, ApiServer]
    """By the number of the engine, those that limit what is queued."""


def make_worker(place: Workplace, index: int, kind: WorkerKind) -> Worker:
    """Return the next worker, which has this index."""
    scenario, scene, tiers = place.plan.scenario, place.scene, kind.tiers
    make = partial(make_engine, scenario, kind, tells_growth=place.tells_growth)
    # KV events of each output that have a fate of their own: none is skipped.
    one_by_one = scenario.frontend.events_differ or scene.sends_one_by_one(index)
    return Worker(
        place.clock,
        index,
        make(),
        step_time=scene.enter(make, kind.step_time),
        links=TierLinks(
            tiers,
            kind.capacity.host_block_bytes,
            {tier.link: scene.outages(index, tier.link) for tier in tiers},
            place.returns.fetch(index) if place.returns is not None else lambda _: None,
        ),
        observer=place.observer,
        outbox=scene.outbox(index, place.outbox),
        lazy_updates=place.lazy_updates,
        delays=place.plan.delays,
        fast_forward=scenario.engine.fast_forward and not one_by_one,
        loop=_engine_loop(place.plan),
        server=_server(place, index),
    )


def _server(place: Workplace, index: int) -> ApiServer | None:
    """Return what admits requests to a worker, shared by the ranks of an engine; None: all are admitted."""
    engine, workers = place.plan.scenario.engine, place.plan.scenario.workers
    most_reqs, most_tokens = engine.max_num_queued_reqs, engine.max_num_queued_tokens
    if most_reqs is None and most_tokens is None:
        return None
    first = workers.first
    number = index // first.parallel.data
    if index >= first.ranks:
        number = first.count + (index - first.ranks) // workers.then.parallel.data
    if number not in place.servers:
        place.servers[number] = ApiServer(most_reqs, most_tokens)
    return place.servers[number]


def _engine_loop(plan: Blueprint) -> EngineLoop | None:
    pieces = plan.pull_shape.pieces if plan.scenario.workers.prefill else 0
    return engine_loop(plan.times.hosts, pieces)
