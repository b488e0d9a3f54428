import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from sim.events.clock import Phase, at, at_time

times_s = st.floats(0, 1e9)


def log_of(events):
    """Run events, given as (make, name), and return the names in the order in which they fired."""
    env, log = simpy.Environment(), []
    for make, name in events:
        make(env).callbacks.append(lambda _, name=name: log.append((name, env.now)))
    env.run()
    return log


def test_outputs_come_first_then_arrivals_then_schedules():
    phases = [Phase.SCHEDULE, Phase.OUTPUT, Phase.ARRIVAL]
    log = log_of([(lambda env, phase=phase: at(env, 1.0, phase), phase.name) for phase in phases])
    assert log == [("OUTPUT", 1.0), ("ARRIVAL", 1.0), ("SCHEDULE", 1.0)]


def test_within_a_phase_entities_come_in_order_and_an_earlier_time_before_all():
    events = [
        (lambda env: at(env, 1.0, Phase.ARRIVAL, 1_000_000), "last"),
        (lambda env: at(env, 1.0, Phase.ARRIVAL, 2), "third"),
        (lambda env: at(env, 1.0, Phase.ARRIVAL, 1), "second"),
        (lambda env: at(env, 0.5, Phase.SCHEDULE, 9), "first"),
    ]
    assert [name for name, _ in log_of(events)] == ["first", "second", "third", "last"]


def test_one_entity_is_served_in_the_order_of_scheduling():
    events = [(lambda env: at(env, 1.0, Phase.OUTPUT, 3), name) for name in "abc"]
    assert [name for name, _ in log_of(events)] == ["a", "b", "c"]


def test_what_an_earlier_phase_adds_at_the_same_instant_still_comes_in_its_place():
    env, log = simpy.Environment(), []

    def output(_):
        log.append("output")
        at(env, 0.0, Phase.ARRIVAL).callbacks.append(lambda _: log.append("arrival"))

    at(env, 1.0, Phase.SCHEDULE).callbacks.append(lambda _: log.append("schedule"))
    at(env, 1.0, Phase.OUTPUT).callbacks.append(output)
    env.run()
    assert log == ["output", "arrival", "schedule"]


@given(times_s, times_s)
def test_a_time_is_met_exactly(earlier_s, later_s):
    earlier_s, later_s = sorted((earlier_s, later_s))
    env, log = simpy.Environment(), []
    first = at_time(env, earlier_s, Phase.OUTPUT)
    first.callbacks.append(
        lambda _: at_time(env, later_s, Phase.OUTPUT).callbacks.append(lambda _: log.append(env.now))
    )
    env.run()
    assert log == [later_s]


def test_a_sum_of_delays_would_miss_it():
    assert 0.03 + (0.29 - 0.03) != 0.29, "which is why there is `at_time`"


@pytest.mark.parametrize("time_s", [0.5, float("nan")])
def test_no_event_in_the_past(time_s):
    env = simpy.Environment(initial_time=1.0)
    with pytest.raises(ValueError, match="already"):
        at_time(env, time_s, Phase.OUTPUT)
