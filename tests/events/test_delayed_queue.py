from math import inf

from sim.events.delayed_queue import DelayedQueue


def delayed_queue():
    got = []
    return DelayedQueue(lambda sender, content: got.append((sender, content))), got


def test_messages_are_delivered_when_somebody_looks_and_only_those_that_have_arrived():
    box, got = delayed_queue()
    box.send(2.0, 0, "late")
    box.send(1.0, 0, "early")
    assert len(box) == 2
    assert got == []
    box.open(0.5)
    assert got == []
    box.open(1.0)
    assert got == [(0, "early")]
    box.open(5.0)
    assert got == [(0, "early"), (0, "late")]
    assert len(box) == 0


def test_at_one_time_senders_come_in_order_and_a_sender_in_the_order_of_sending():
    box, got = delayed_queue()
    for sender, content in [(2, "a"), (1, "b"), (2, "c"), (1, "d")]:
        box.send(1.0, sender, content)
    box.open(1.0)
    assert got == [(1, "b"), (1, "d"), (2, "a"), (2, "c")]


def test_who_looks_within_an_instant_sees_only_the_senders_before():
    box, got = delayed_queue()
    for sender in (0, 1, 2):
        box.send(1.0, sender, "x")
    box.open(1.0, -1)
    assert got == []
    box.open(1.0, 1)
    assert got == [(0, "x"), (1, "x")]
    box.open(1.0, inf)
    assert len(got) == 3
