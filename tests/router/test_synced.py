"""A router that tells others of its bookings: what it says, and what it makes of what they say."""

from sim.router import RouterConfig
from sim.router.synced import SyncedRouter, copy_of
from tests.router.helpers import BLOCK, book_on, load, query


class Told:
    """Notes what was said."""

    def __init__(self):
        self.said = []

    def booked(self, booking):
        self.said.append(("booked", booking.rank))

    def first_token(self, booking):
        self.said.append(("first token", booking.rank))

    def freed(self, booking):
        self.said.append(("freed", booking.rank))


def router(told=None, **config):
    return SyncedRouter(RouterConfig(**config), BLOCK, 2, told=told or Told())


def test_it_says_whom_it_books_first_tokens_and_ends_but_no_blocks_of_answers():
    told = Told()
    ours = router(told, track_output_blocks=True)
    booking = book_on(ours, 1, query([1, 2]))
    ours.first_token(booking, 1.0)
    ours.output_tokens(booking, 40, 2.0)
    ours.free(booking, 3.0)
    assert told.said == [("booked", 1), ("first token", 1), ("freed", 1)]


def test_of_what_it_does_not_know_any_more_it_says_nothing():
    told = Told()
    ours = router(told)
    booking = book_on(ours, 0, query([1]))
    ours.forget_bookings()
    ours.first_token(booking, 1.0)
    ours.free(booking, 2.0)
    ours.free(booking, 3.0)
    assert told.said == [("booked", 0)]


def test_what_others_say_counts_and_is_told_no_further():
    told = Told()
    theirs, ours = router(), router(told)
    booking = book_on(theirs, 1, query([1, 2], tail_tokens=3))
    ours.booked_elsewhere(7, copy_of(booking, 0.5), 0.5)
    assert load(ours) == load(theirs) == ([0, 35], [0, 2], [0, 1])
    ours.first_token_elsewhere(7, booking.request, 1.0)
    assert load(ours) == ([0, 0], [0, 2], [0, 1])
    assert load(theirs) == ([0, 35], [0, 2], [0, 1])
    ours.freed_elsewhere(7, booking.request, 2.0)
    ours.freed_elsewhere(7, booking.request, 2.0)
    assert load(ours) == ([0, 0], [0, 0], [0, 0])
    assert told.said == []


def test_blocks_of_others_are_shared_with_ones_own():
    theirs, ours = router(), router()
    ours.booked_elsewhere(1, copy_of(book_on(theirs, 0, query([1, 2, 3])), 0.0), 0.0)
    book_on(ours, 0, query([1, 2, 4]))
    assert load(ours)[1] == [4, 0]


def test_a_request_that_is_booked_again_before_its_end_was_heard_counts_once():
    theirs, ours = router(), router()
    first, second = book_on(theirs, 0, query([1])), book_on(theirs, 1, query([1]))
    ours.booked_elsewhere(1, copy_of(first, 0.0), 0.0)
    ours.booked_elsewhere(1, copy_of(second, 1.0), 1.0)
    assert load(ours)[2] == [0, 1]
    ours.booked_elsewhere(2, copy_of(first, 2.0), 2.0)
    assert load(ours)[2] == [1, 1]


def test_what_it_hears_no_more_of_it_lets_go():
    """Scans are every 10 s, it hears at 1 and 12 s: that of 30 s finds nothing new since the one before."""
    theirs, ours = router(), router(active_request_expiry_secs=10.0)
    booking = book_on(theirs, 0, query([1]))
    ours.booked_elsewhere(1, copy_of(booking, 1.0), 1.0)
    ours.first_token_elsewhere(1, booking.request, 12.0)
    ours.terms(query(), 29.9)
    assert load(ours)[2] == [1, 0]
    ours.terms(query(), 30.0)
    assert load(ours)[2] == [0, 0]
    ours.freed_elsewhere(1, booking.request, 31.0)
    assert load(ours)[2] == [0, 0]


def test_one_that_starts_anew_knows_nothing_of_others_either():
    theirs, ours = router(), router()
    booking = book_on(theirs, 0, query([1]))
    ours.booked_elsewhere(1, copy_of(booking, 0.0), 0.0)
    ours.forget_bookings()
    ours.first_token_elsewhere(1, booking.request, 1.0)
    ours.freed_elsewhere(1, booking.request, 1.0)
    assert load(ours) == ([0, 0], [0, 0], [0, 0])
