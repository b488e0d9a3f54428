"""What a run says of its front ends."""

import pytest

from sim.simulation.front_ends import front_end_notes
from tests.clusters import scenario

TWO = {"frontend.replicas": 2}


def notes(**keys):
    sections = {}
    for key, value in keys.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    return front_end_notes(scenario(**sections))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, []),
        ({"router.replica_sync": True}, []),
        (TWO, ["2 front ends, bookings not shared; a session keeps its front end"]),
        (
            {**TWO, "router.replica_sync": True, "frontend.load_balancing": "random"},
            ["2 front ends, bookings shared 200 us later; requests come to any of them"],
        ),
        (
            {
                **TWO,
                "router.replica_sync": True,
                "router.replica_sync_delay_s": 0.5,
                "router.replica_sync_loss": 0.1,
                "frontend.load_balancing": "round-robin",
            },
            [
                "2 front ends, bookings shared 500 ms later, but for 10.0 % of the messages; "
                "requests come to them in turn"
            ],
        ),
        (
            {"frontend.event_loss": 0.2, "frontend.event_jitter_s": 0.5, "frontend.event_delay_s": 0.25},
            [
                "KV events of 20.0 % of the outputs are lost: recovered with the next ones",
                "KV events take 250 ms to 750 ms, a draw each",
            ],
        ),
        (
            {"frontend.event_loss": 1, "frontend.event_loss_recovered": False},
            ["KV events of 100 % of the outputs are lost: lost for good"],
        ),
    ],
)
def test_what_is_said(keys, said):
    assert notes(**keys) == said
