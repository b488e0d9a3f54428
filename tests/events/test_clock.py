import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.events.clock import LAST_S, Clock, Phase

times_s = st.floats(0, 1e9)


def log_of(*moments):
    """Let things happen, given as (name, time, phase, entity), and return (name, when) in their order."""
    clock, log = Clock(), []
    for name, time_s, phase, entity in moments:
        clock.at(time_s, phase, entity, lambda name=name: log.append((name, clock.now_s)))
    clock.run()
    return log


def test_outputs_come_first_then_arrivals_then_schedules():
    phases = [Phase.SCHEDULE, Phase.OUTPUT, Phase.ARRIVAL]
    log = log_of(*((phase.name, 1.0, phase, 0) for phase in phases))
    assert log == [("OUTPUT", 1.0), ("ARRIVAL", 1.0), ("SCHEDULE", 1.0)]


def test_within_a_phase_entities_come_in_order_and_an_earlier_time_before_all():
    log = log_of(
        ("last", 1.0, Phase.ARRIVAL, 1_000_000),
        ("third", 1.0, Phase.ARRIVAL, 2),
        ("second", 1.0, Phase.ARRIVAL, 1),
        ("first", 0.5, Phase.SCHEDULE, 9),
    )
    assert [name for name, _ in log] == ["first", "second", "third", "last"]


def test_one_entity_is_served_in_the_order_of_scheduling():
    assert [name for name, _ in log_of(*((name, 1.0, Phase.OUTPUT, 3) for name in "abc"))] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20))
def test_nothing_is_lost_or_overtakes_what_was_arranged_before_it(moments):
    log = log_of(*((n, float(when), Phase.OUTPUT, entity) for n, (when, entity) in enumerate(moments)))
    assert [n for n, _ in log] == sorted(range(len(moments)), key=lambda n: (*moments[n], n))


def test_what_an_earlier_phase_adds_at_the_same_instant_still_comes_in_its_place():
    clock, log = Clock(), []

    def output():
        log.append("output")
        clock.at(1.0, Phase.ARRIVAL, 0, lambda: log.append("arrival"))

    clock.at(1.0, Phase.SCHEDULE, 0, lambda: log.append("schedule"))
    clock.at(1.0, Phase.OUTPUT, 0, output)
    clock.run()
    assert log == ["output", "arrival", "schedule"]


@given(times_s, times_s)
def test_a_time_is_met_exactly(earlier_s, later_s):
    earlier_s, later_s = sorted((earlier_s, later_s))
    clock, log = Clock(), []

    def first():
        clock.at(later_s, Phase.OUTPUT, 0, lambda: log.append(clock.now_s))

    clock.at(earlier_s, Phase.OUTPUT, 0, first)
    clock.run()
    assert log == [later_s]


def test_a_sum_of_delays_would_miss_it():
    assert 0.03 + (0.29 - 0.03) != 0.29, "which is why `at` takes a time"


@pytest.mark.parametrize("time_s", [0.5, float("nan")])
def test_nothing_happens_in_the_past(time_s):
    with pytest.raises(ValueError, match="already"):
        Clock(1.0).at(time_s, Phase.OUTPUT, 0, lambda: None)


def test_nothing_happens_after_the_end_of_time():
    with pytest.raises(InputError, match="out of proportion"):
        Clock().at(1.1 * LAST_S, Phase.OUTPUT, 0, lambda: None)


def test_processes_of_simpy_live_on_the_same_clock():
    clock, log = Clock(), []

    def process():
        yield clock.timeout(1.0)
        log.append(("process", clock.now_s))

    clock.at(1.0, Phase.FAULT, 0, lambda: log.append(("fault", clock.now_s)))
    clock.process(process())
    clock.run()
    assert log == [("process", 1.0), ("fault", 1.0)]


def arranged_last(delay_s, *others):
    """Arrange something as the last thing done at 1 s, with others due then; return what happens."""
    clock, log = Clock(), []

    def arrange():
        clock.at(1.0 + delay_s, Phase.ARRIVAL, 5, lambda: log.append("message"), last=True)
        log.append("sent")

    clock.at(1.0, Phase.OUTPUT, 0, arrange)
    for phase, entity in others:
        clock.at(1.0, phase, entity, lambda: log.append("other"))
    clock.run()
    return log


def test_what_is_arranged_last_for_now_and_comes_next_is_done_at_once():
    assert arranged_last(0.0) == ["message", "sent"]
    assert arranged_last(0.0, (Phase.ARRIVAL, 6), (Phase.SCHEDULE, 0)) == [
        "message",
        "sent",
        "other",
        "other",
    ]


def test_what_is_arranged_last_waits_for_its_time_and_for_those_before_it():
    assert arranged_last(0.25) == ["sent", "message"]
    assert arranged_last(0.0, (Phase.ARRIVAL, 4)) == ["sent", "other", "message"]
    assert arranged_last(0.0, (Phase.ARRIVAL, 5)) == ["sent", "other", "message"]
