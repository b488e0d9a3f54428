"""Bookings that are let go although nobody said that their request ended."""

from sim.router import Router, RouterConfig
from sim.router.expiry import AgeLimit, SecondChance
from sim.router.load import Booking, Loads
from tests.router.helpers import BLOCK, book_on, load, query
from tests.router.test_load import booking


def booked(loads: Loads, *booked_s: float, rank: int = 0) -> list[Booking]:
    found = [booking(rank, own=1, prefill=1, booked_s=time_s) for time_s in booked_s]
    for each in found:
        loads.book(each)
    return found


def freed_at(interval_s: float, booked_s: float, until_s: int) -> float | None:
    """The first tenth of a second at which a booking is gone of which nothing is heard."""
    loads, rule = Loads(1), SecondChance(interval_s)
    booked(loads, booked_s)
    for tenth in range(int(booked_s * 10) + 1, until_s * 10):
        rule.look(loads, tenth / 10)
        if not loads.requests[0]:
            return tenth / 10
    return None


def test_what_makes_no_progress_is_freed_at_the_second_scan() -> None:
    """Measured on the frontend of Dynamo 1.5.0, with 5 s, 23 s and the default of 300 s."""
    assert [freed_at(5, s, 80) for s in (5.01, 12.0, 40.1, 55.1)] == [15.0, 20.0, 50.0, 65.0]
    assert [freed_at(23, s, 80) for s in (5.0, 21.0, 26.0)] == [46.0, 46.0, 69.0]
    assert freed_at(300, 15.0, 700) == 600.0


def test_a_booking_at_the_instant_of_a_scan_comes_after_it() -> None:
    assert freed_at(5, 5.0, 80) == 15.0
    assert freed_at(5, 4.9, 80) == 10.0


def test_a_request_that_streams_never_expires() -> None:
    router = Router(RouterConfig(), BLOCK, 1)
    streams = book_on(router, 0, query([1, 2], tail_tokens=0), now_s=5.0)
    router.first_token(streams, 25.0)
    for time_s in range(45, 665, 20):
        assert load(router) == ([0], [2], [1])
        router.progress(streams, time_s, time_s)
    router.free(streams, 665.0)
    assert load(router) == ([0], [0], [0])


def test_each_kind_of_news_is_progress() -> None:
    def silent_after(act: str) -> float:
        router = Router(RouterConfig(active_request_expiry_secs=10.0), BLOCK, 1)
        held = book_on(router, 0, query([1]), now_s=1.0)
        if act == "first token":
            router.first_token(held, 15.0)
        elif act == "output":
            router.output_tokens(held, 1, 15.0)
        elif act == "chunk":
            router.progress(held, 15.0, 16.0)
        for time_s in range(17, 60):
            router.terms(query([2]), time_s)
            if not load(router)[2][0]:
                return time_s
        return 60.0

    found = [silent_after(act) for act in ("nothing", "first token", "output", "chunk")]
    assert found == [20.0, 30.0, 30.0, 30.0]


def test_scans_are_made_up_for_in_one_look_and_what_was_freed_stays_so() -> None:
    loads, rule = Loads(1), SecondChance(5.0)
    old, young = booked(loads, 1.0, 16.0)
    rule.look(loads, 21.0)
    assert [*loads.open] == [young]
    rule.look(loads, 1e9)
    assert not loads.open
    assert rule.next_scan_s > 1e9
    loads.free(old, 0.0)
    assert loads.requests == [0]


def test_the_service_frees_by_age_when_it_books_on_the_rank() -> None:
    """And at most every half minute (Dynamo 1.5.0's SelectionService)."""
    loads, rule = Loads(2), AgeLimit(5.0, 2)
    (first,) = booked(loads, 1.0)
    (other,) = booked(loads, 1.0, rank=1)
    rule.booking(loads, 0, 29.0)
    assert [*loads.open] == [first, other]
    rule.booking(loads, 0, 31.0)
    assert [*loads.open] == [other]
    (second,) = booked(loads, 31.0)
    rule.booking(loads, 0, 60.5)
    assert [*loads.open] == [other, second], "not half a minute after the last look"


def test_the_service_sweeps_every_minute_where_it_has_not_looked_just_before() -> None:
    loads, rule = Loads(2), AgeLimit(5.0, 2)
    booked(loads, 1.0)
    rule.booking(loads, 1, 35.0)
    (late,) = booked(loads, 36.0, rank=1)
    rule.look(loads, 59.9)
    assert len([*loads.open]) == 2
    rule.look(loads, 61.0)
    assert [*loads.open] == [late], "that rank was looked at 25 s before"
    rule.look(loads, 130.0)
    assert not loads.open


def test_the_service_keeps_what_is_exactly_as_old_as_the_limit() -> None:
    loads, rule = Loads(1), AgeLimit(30.0, 1)
    _, kept = booked(loads, 9.0, 10.0)
    rule.booking(loads, 0, 40.0)
    assert [*loads.open] == [kept]
