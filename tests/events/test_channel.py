import simpy
from hypothesis import given
from hypothesis import strategies as st

from sim.events.channel import Channel
from sim.events.clock import Phase, at


def send_all(sends, delay_s):
    """Send messages, given as (when, from whom, what), and return the (what, when) of their arrival."""
    env, log = simpy.Environment(), []
    channel = Channel(env, delay_s, Phase.OUTPUT)
    for when_s, entity, message in sends:

        def send(_, entity=entity, message=message):
            channel.send(entity, lambda: log.append((message, env.now)))

        at(env, when_s, Phase.SCHEDULE, entity).callbacks.append(send)
    env.run()
    return log


def test_a_message_arrives_after_the_delay():
    assert send_all([(1.0, 0, "a"), (2.5, 0, "b")], 0.25) == [("a", 1.25), ("b", 2.75)]


def test_messages_of_one_sender_keep_their_order_and_senders_come_in_theirs():
    sends = [(1.0, 2, "c"), (1.0, 1, "a"), (1.0, 2, "d"), (1.0, 1, "b")]
    assert [message for message, _ in send_all(sends, 0.0)] == ["a", "b", "c", "d"]


def test_a_message_is_there_before_those_who_arrive_at_its_instant():
    env, log = simpy.Environment(), []
    at(env, 1.0, Phase.ARRIVAL).callbacks.append(lambda _: log.append("arrival"))
    Channel(env, 1.0, Phase.OUTPUT).send(7, lambda: log.append("message"))
    env.run()
    assert log == ["message", "arrival"]


def sent_last(delay_s, *before):
    """Send a message at 1 s as the last thing, with others arranged for then; return what happens."""
    env, log = simpy.Environment(), []
    channel = Channel(env, delay_s, Phase.ARRIVAL)

    def send(_):
        channel.send(5, lambda: log.append("message"), last=True)
        log.append("sent")

    at(env, 1.0, Phase.OUTPUT).callbacks.append(send)
    for phase, entity in before:
        at(env, 1.0, phase, entity).callbacks.append(lambda _: log.append("other"))
    env.run()
    return log


def test_a_last_message_without_delay_that_comes_next_is_delivered_at_once():
    assert sent_last(0.0) == ["message", "sent"]
    assert sent_last(0.0, (Phase.ARRIVAL, 6), (Phase.SCHEDULE, 0)) == ["message", "sent", "other", "other"]


def test_a_last_message_waits_for_its_time_and_for_those_before_it():
    assert sent_last(0.25) == ["sent", "message"]
    assert sent_last(0.0, (Phase.ARRIVAL, 4)) == ["sent", "other", "message"]
    assert sent_last(0.0, (Phase.ARRIVAL, 5)) == ["sent", "other", "message"]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_no_message_is_lost_or_overtakes_one_of_its_sender(sends, delay_s):
    log = send_all([(when, entity, (entity, number)) for number, (when, entity) in enumerate(sends)], delay_s)
    for entity in range(3):
        sent = sorted((when, number) for number, (when, sender) in enumerate(sends) if sender == entity)
        arrived = [number for (sender, number), _ in log if sender == entity]
        assert arrived == [number for _, number in sent]
