"""KV events that are late or lost on their way to one front end."""

import pytest

from sim.cluster.event_way import EventWay
from sim.kv.events import KvEvent
from sim.scenario.sections import FrontendSettings
from tests.cluster.test_front_ends import play
from tests.clusters import rows, trace, turn


def way(front_end=0, pool="aggregated", seed=0, **settings):
    return EventWay(FrontendSettings(**settings), pool, front_end, seed)


def event(block):
    return KvEvent(True, 0, None, (block,), "device")


def sent(over, n=200, every_s=1.0):
    """What becomes of events of rank 0, each of one block: (when, which blocks), None if lost."""
    arrived = [over.arrival(0, [event(k)], k * every_s, k * every_s + 0.5) for k in range(n)]
    return [one and (one.time_s, [event.blocks[0] for event in one.events]) for one in arrived]


def test_without_jitter_and_loss_they_come_when_they_usually_do():
    assert sent(way()) == [(k + 0.5, [k]) for k in range(200)]


def test_jitter_adds_up_to_so_much_and_keeps_the_order():
    times = [one[0] for one in sent(way(event_jitter_s=3.0))]
    late = [time_s - (k + 0.5) for k, time_s in enumerate(times)]
    assert 0 <= min(late) < 0.5
    assert 2.5 < max(late) <= 3
    assert times == sorted(times)


def test_what_is_lost_comes_with_the_next_that_arrives():
    found = sent(way(event_loss=0.5))
    assert 70 < found.count(None) < 130
    last = max(k for k, one in enumerate(found) if one)
    arrived = [block for one in found if one for block in one[1]]
    assert arrived == [*range(last + 1)]
    assert all(one == (k + 0.5, one[1]) and one[1][-1] == k for k, one in enumerate(found) if one)


def test_or_never():
    found = sent(way(event_loss=0.5, event_loss_recovered=False))
    assert all(one is None or one[1] == [k] for k, one in enumerate(found))
    assert [one is None for one in found] == [one is None for one in sent(way(event_loss=0.5))]
    assert sent(way(event_loss=1)) == [None] * 200


def test_each_front_end_loses_its_own():
    found = [
        sent(way(**where, event_loss=0.5))
        for where in ({}, {"front_end": 1}, {"pool": "decode"}, {"seed": 1})
    ]
    assert len({tuple(one is None for one in lost) for lost in found}) == 4


def test_what_was_missed_can_be_asked_for_once():
    over = way(event_loss=1)
    sent(over, n=2)
    assert [event.blocks[0] for event in over.recovered(0)] == [0, 1]
    assert over.recovered(0) == over.recovered(1) == []


# -- in a cluster --------------------------------------------------------------------------------------------

TURNS = trace(
    turn(0, 64, 1, range(4), "a"),
    turn(10, 64, 1, range(10, 14), "b"),
    turn(20, 80, 1, [*range(4), 5], "c"),
    turn(30, 80, 1, [*range(10, 14), 15], "d"),
)


def overlaps(front_ends=1, **frontend):
    """The longest overlap with any worker, as each request's router saw it, of two workers."""
    cluster = play(TURNS, front_ends, workers=1, frontend=frontend)
    return [row["device_blocks"] for row in rows(cluster, "decisions") if row["chosen"]]


@pytest.mark.parametrize("front_ends", [1, 2])
def test_a_router_sees_of_caches_what_it_heard(front_ends):
    assert overlaps(front_ends) == [0, 0, 4, 4]
    assert overlaps(front_ends, event_loss=1) == [0, 0, 0, 0]
    assert overlaps(front_ends, event_jitter_s=0.01) == [0, 0, 4, 4]


@pytest.mark.parametrize(("index", "seen"), [("recovered", [0, 0, 4, 0]), ("lost", [0, 0, 0, 0])])
def test_a_router_that_starts_anew_asks_for_what_it_missed(index, seen):
    """All is lost; at 15 s one asks for what was sent until then."""
    again = {"kind": "frontend-restarts", "at_s": 15, "front_end": 0, "index": index}
    cluster = play(TURNS, 2, workers=1, frontend={"event_loss": 1}, faults=[again])
    assert [row["device_blocks"] for row in rows(cluster, "decisions") if row["chosen"]] == seen
