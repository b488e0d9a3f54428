"""Pulls and leases, event by event: blocks of 5 bytes, a card of 10 bytes a second on each of two nodes."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sim.cluster.kv_transfer import Lease, PullListeners, Pulls
from sim.engine.active import RemoteBlocks
from sim.engine.nixl import Pull
from sim.events.clock import Clock, Phase
from sim.links.network import Network
from sim.links.settings import NetworkSettings, NvlinkSettings, RoceSettings

NODES = (0, 0, 1, 1)
NO_HEARTBEATS = Lease(lease_s=10.0, heartbeat_interval_s=0.0, extension_s=20.0)
HEARTBEATS = Lease(lease_s=10.0, heartbeat_interval_s=5.0, extension_s=20.0)
RARE_HEARTBEATS = Lease(lease_s=10.0, heartbeat_interval_s=6.0, extension_s=2.0)
BOTH = pytest.mark.parametrize("lease", [NO_HEARTBEATS, HEARTBEATS])


class Stage:
    """Pulls between four workers, a script of calls, and the log of everything that comes of it."""

    def __init__(self, lease: Lease, latency_s: float = 0.0, per_descriptor_s: float = 0.0) -> None:
        self.env = Clock()
        roce = RoceSettings(
            bandwidth_bytes_per_s=10.0, latency_s=latency_s, per_descriptor_s=per_descriptor_s
        )
        nvlink = NvlinkSettings(bandwidth_bytes_per_s=100.0, latency_s=0.0, per_descriptor_s=0.0)
        network = Network(NetworkSettings(nvlink=nvlink, roce=roce), NODES)
        self.log: list[tuple[Any, ...]] = []
        self.pulls = Pulls(
            self.env,
            network,
            lease,
            block_bytes=5,
            pieces_per_block=3,
            workers=[_Target(self, worker) for worker in range(len(NODES))],
            listeners=PullListeners(
                lambda *pull: self.log.append((self.env.now, "pulled", *pull)),
                lambda request: self.log.append((self.env.now, "expired", request)),
                lambda request, target: self.log.append((self.env.now, "failed", request, target)),
            ),
        )

    def at(self, time_s: float, act: Callable[[], object]) -> None:
        def call() -> None:
            act()

        self.env.at(time_s, Phase.ARRIVAL, 0, call)

    def hold(self, time_s: float, request: int, worker: int = 0) -> None:
        self.at(time_s, lambda: self.pulls.hold(request, worker))

    def awaited(self, time_s: float, request: int) -> None:
        """Note the answer, too."""
        self.at(
            time_s, lambda: self.log.append((self.env.now, "awaited", request, self.pulls.awaited(request)))
        )

    def start(self, time_s: float, request: int, blocks: int, target: int = 2) -> None:
        pull = Pull(request, RemoteBlocks(16 * blocks, (blocks,)), (blocks,))
        self.at(time_s, lambda: self.pulls.start(pull, target))

    def run(self) -> list[tuple[Any, ...]]:
        self.env.run()
        return self.log


class _Target:
    def __init__(self, stage: Stage, worker: int) -> None:
        self._stage = stage
        self._worker = worker

    def report(self, *, pulled: Sequence[int] = (), read: Sequence[int] = ()) -> None:
        self._stage.log.append((self._stage.env.now, f"worker {self._worker}", [*pulled], [*read]))


# -- leases -------------------------------------------------------------------------------------------------


@BOTH
def test_a_lease_ends_when_nobody_came(lease: Lease) -> None:
    stage = Stage(lease)
    stage.hold(1.0, 7)
    assert stage.run() == [(11.0, "expired", 7), (11.0, "worker 0", [], [7])]


def test_leases_run_out_in_the_order_of_their_ends_and_those_of_a_worker_in_that_of_their_start() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 9, worker=1)
    stage.hold(0.0, 3, worker=0)
    stage.hold(0.0, 2, worker=0)
    stage.hold(0.5, 1, worker=0)
    stage.start(1.0, 3, blocks=2)
    expired = [request for _, what, request, *_ in stage.run() if what == "expired"]
    assert expired == [2, 9, 1]


@BOTH
def test_who_comes_after_the_end_comes_too_late(lease: Lease) -> None:
    stage = Stage(lease)
    stage.hold(0.0, 7)
    stage.awaited(10.0, 7)  # what workers give out comes before what arrives: the lease has ended
    assert stage.run() == [(10.0, "expired", 7), (10.0, "worker 0", [], [7]), (10.0, "awaited", 7, False)]


def test_without_heartbeats_waiting_prolongs_nothing() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 7)
    stage.awaited(3.0, 7)
    assert stage.run() == [(3.0, "awaited", 7, True), (10.0, "expired", 7), (10.0, "worker 0", [], [7])]


@pytest.mark.parametrize("came_s", [0.0, 3.0, 9.5])
def test_heartbeats_prolong_the_lease_for_ever(came_s: float) -> None:
    stage = Stage(HEARTBEATS)
    stage.hold(0.0, 7)
    stage.awaited(came_s, 7)
    stage.start(1000.0, 7, blocks=2)
    assert stage.run() == [
        (came_s, "awaited", 7, True),
        (1001.0, "pulled", 7, 10, 1000.0, 1001.0),
        (1001.0, "worker 2", [7], []),
        (1001.0, "worker 0", [], [7]),
    ]


def test_a_heartbeat_that_comes_with_the_end_of_its_extension_is_in_time() -> None:
    stage = Stage(Lease(lease_s=10.0, heartbeat_interval_s=5.0, extension_s=5.0))
    stage.hold(0.0, 7)
    stage.awaited(3.0, 7)
    assert stage.run() == [(3.0, "awaited", 7, True)]


@pytest.mark.parametrize(
    ("came_s", "end_s"),
    [
        (1.0, 10.0),  # the beat at 7 s prolongs to 9 s at most
        (3.0, 11.0),  # the one at 9 s to 11 s; the next would be at 15 s
        (4.0, 12.0),  # the one at 10 s is just in time
        (4.5, 10.0),  # the one at 10.5 s comes too late
        (9.0, 11.0),  # coming is a beat, too
    ],
)
def test_heartbeats_rarer_than_their_extension_prolong_the_lease_once(came_s: float, end_s: float) -> None:
    stage = Stage(RARE_HEARTBEATS)
    stage.hold(0.0, 7)
    stage.awaited(came_s, 7)
    assert stage.run() == [
        (came_s, "awaited", 7, True),
        (end_s, "expired", 7),
        (end_s, "worker 0", [], [7]),
    ]


def test_a_lease_that_ends_is_that_of_one_request() -> None:
    stage = Stage(HEARTBEATS)
    stage.hold(0.0, 7, worker=0)
    stage.hold(0.0, 8, worker=1)
    stage.awaited(5.0, 7)
    assert stage.run() == [(5.0, "awaited", 7, True), (10.0, "expired", 8), (10.0, "worker 1", [], [8])]


def test_what_is_not_needed_is_let_go_at_once_and_never_expires() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 7, worker=1)
    stage.at(4.0, lambda: stage.pulls.unneeded(7))
    stage.awaited(5.0, 7)
    assert stage.run() == [(4.0, "worker 1", [], [7]), (5.0, "awaited", 7, False)]


def test_what_is_held_anew_has_a_lease_of_its_own() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 7)
    stage.at(4.0, lambda: stage.pulls.unneeded(7))
    stage.hold(6.0, 7)
    assert stage.run() == [(4.0, "worker 0", [], [7]), (16.0, "expired", 7), (16.0, "worker 0", [], [7])]


# -- transfers ----------------------------------------------------------------------------------------------


def test_a_pull_that_has_begun_outlives_the_lease() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 7)
    stage.start(9.0, 7, blocks=6)
    assert stage.run() == [
        (12.0, "pulled", 7, 30, 9.0, 12.0),
        (12.0, "worker 2", [7], []),
        (12.0, "worker 0", [], [7]),
    ]


def test_a_pull_is_set_up_before_its_bytes_go() -> None:
    """1 s of latency, 2 blocks of 3 segments at 0.5 s each, 10 bytes at 10 a second."""
    stage = Stage(NO_HEARTBEATS, latency_s=1.0, per_descriptor_s=0.5)
    stage.hold(0.0, 7)
    stage.start(1.0, 7, blocks=2)
    assert stage.run()[0] == (6.0, "pulled", 7, 10, 1.0, 6.0)


def test_a_pull_inside_a_node_takes_nvlink() -> None:
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 7)
    stage.start(1.0, 7, blocks=10, target=1)
    assert stage.run()[0] == (1.5, "pulled", 7, 50, 1.0, 1.5)


def test_two_pulls_divide_a_card() -> None:
    """60 bytes alone from 0 to 2 s, at half rate while the other's 15 go, alone again."""
    stage = Stage(NO_HEARTBEATS)
    stage.hold(0.0, 1, worker=0)
    stage.hold(0.0, 2, worker=1)
    stage.start(0.0, 1, blocks=12, target=2)
    stage.start(2.0, 2, blocks=3, target=3)
    assert stage.run() == [
        (5.0, "pulled", 2, 15, 2.0, 5.0),
        (5.0, "worker 3", [2], []),
        (5.0, "worker 1", [], [2]),
        (7.5, "pulled", 1, 60, 0.0, 7.5),
        (7.5, "worker 2", [1], []),
        (7.5, "worker 0", [], [1]),
    ]


def test_pulls_that_end_together_are_told_in_order_of_their_requests() -> None:
    stage = Stage(NO_HEARTBEATS)
    for request in (2, 1):
        stage.hold(0.0, request)
        stage.start(1.0, request, blocks=4)
    assert [entry for entry in stage.run() if entry[1] == "pulled"] == [
        (5.0, "pulled", 1, 20, 1.0, 5.0),
        (5.0, "pulled", 2, 20, 1.0, 5.0),
    ]


# -- a prefill worker that dies -----------------------------------------------------------------------------


def test_what_a_dead_worker_held_is_lost_at_once() -> None:
    """Not what is read already, not what another worker holds, and the dead one is told nothing."""
    stage = Stage(NO_HEARTBEATS)
    for request in (1, 2):
        stage.hold(0.0, request, worker=0)
    stage.hold(0.0, 3, worker=1)
    stage.start(2.0, 1, blocks=6)
    stage.at(3.0, lambda: stage.pulls.lose(0))
    stage.awaited(4.0, 2)
    stage.awaited(4.0, 3)
    assert stage.run() == [
        (3.0, "expired", 2),
        (4.0, "awaited", 2, False),
        (4.0, "awaited", 3, True),
        (5.0, "pulled", 1, 30, 2.0, 5.0),
        (5.0, "worker 2", [1], []),
        (5.0, "worker 0", [], [1]),
        (10.0, "expired", 3),
        (10.0, "worker 1", [], [3]),
    ]


# -- workers whose process ends -----------------------------------------------------------------------------


def test_a_lease_of_which_nobody_is_left_to_read_ends_after_the_last_heartbeat() -> None:
    stage = Stage(HEARTBEATS)
    stage.hold(0.0, 7)
    stage.awaited(0.0, 7)
    stage.start(30.0, 7, blocks=40)
    stage.at(31.0, lambda: stage.pulls.target_gone(7))
    beat_s = HEARTBEATS.heartbeat_interval_s * (31 // HEARTBEATS.heartbeat_interval_s)
    end_s = beat_s + HEARTBEATS.extension_s
    assert stage.run() == [(0.0, "awaited", 7, True), (end_s, "expired", 7), (end_s, "worker 0", [], [7])]


def test_whom_a_request_never_reached_has_prolonged_nothing() -> None:
    stage = Stage(HEARTBEATS)
    stage.hold(0.0, 7)
    stage.awaited(9.0, 7)
    stage.at(9.0, lambda: stage.pulls.target_gone(7, reached=False))
    assert stage.run()[1:] == [(10.0, "expired", 7), (10.0, "worker 0", [], [7])]


def test_what_is_lost_is_forgotten_when_nobody_will_ask_for_it() -> None:
    stage = Stage(HEARTBEATS)
    for request in (1, 2, 3):
        stage.hold(0.0, request)
    stage.at(1.0, lambda: stage.pulls.over(1))
    stage.at(2.0, lambda: stage.pulls.source_gone(0))
    stage.at(3.0, lambda: stage.pulls.over(2))
    stage.at(4.0, lambda: stage.log.append((4.0, "held", [*stage.pulls.held])))
    assert stage.run() == [(4.0, "held", [3])]
