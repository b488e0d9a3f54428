"""A session stays bound to the rank of its first request, for as long as it is used and a time after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.router.affinity import Affinity, AffinitySettings, Hold, SessionLimitError


def dispatched(affinity: Affinity, session: str, rank: int, now_s: float) -> Hold:
    hold = affinity.take(session, now_s)
    assert hold is not None
    affinity.bind(hold, rank, now_s)
    return hold


def test_the_first_request_that_is_dispatched_binds_its_session():
    affinity = Affinity(10.0)
    hold = affinity.take("a", 0.0)
    assert hold is not None
    assert hold.rank is None
    assert affinity.rank("a", 0.0) is None
    affinity.bind(hold, 3, 1.0)
    assert hold.rank == affinity.rank("a", 1.0) == 3
    assert affinity.rank("b", 1.0) is None


def test_others_of_the_session_wait_until_it_is_bound():
    affinity = Affinity(10.0)
    first = affinity.take("a", 0.0)
    assert first is not None
    assert affinity.take("a", 0.0) is None
    affinity.bind(first, 2, 0.5)
    second = affinity.take("a", 0.5)
    assert second is not None
    assert second.rank == 2


def test_a_first_request_that_is_refused_binds_nothing():
    affinity = Affinity(10.0)
    first = affinity.take("a", 0.0)
    assert first is not None
    affinity.release(first, 0.0)
    assert len(affinity) == 0
    assert dispatched(affinity, "a", 1, 0.0).rank == 1


def test_a_request_that_went_elsewhere_leaves_the_binding():
    affinity = Affinity(10.0)
    dispatched(affinity, "a", 2, 0.0)
    assert dispatched(affinity, "a", 5, 1.0).rank == 2


@pytest.mark.parametrize(("at_s", "rank"), [(11.999, 4), (12.0, None)])
def test_the_time_counts_from_the_end_of_the_last_request(at_s, rank):
    affinity = Affinity(10.0)
    first, second = dispatched(affinity, "a", 4, 0.0), dispatched(affinity, "a", 4, 1.0)
    affinity.release(second, 1.5)
    assert affinity.rank("a", 1.9) == 4
    affinity.release(first, 2.0)
    assert affinity.rank("a", at_s) == rank


def test_a_session_with_a_request_under_way_is_never_past_its_time():
    affinity = Affinity(1.0)
    dispatched(affinity, "a", 4, 0.0)
    assert affinity.rank("a", 1e6) == 4


def test_a_session_that_is_past_its_time_is_bound_anew():
    affinity = Affinity(1.0)
    affinity.release(dispatched(affinity, "a", 4, 0.0), 0.0)
    hold = affinity.take("a", 1.0)
    assert hold is not None
    assert hold.rank is None
    affinity.bind(hold, 0, 1.0)
    assert affinity.rank("a", 1.0) == 0


def test_a_refused_request_of_a_bound_session_makes_it_last_longer():
    affinity = Affinity(1.0)
    affinity.release(dispatched(affinity, "a", 4, 0.0), 0.0)
    hold = affinity.take("a", 0.9)
    assert hold is not None
    affinity.release(hold, 0.9)
    assert affinity.rank("a", 1.8) == 4


def test_a_rank_that_is_gone_takes_its_bindings_along():
    affinity = Affinity(10.0)
    lost, kept = dispatched(affinity, "a", 1, 0.0), dispatched(affinity, "b", 2, 0.0)
    affinity.forget(1)
    assert (affinity.rank("a", 0.0), affinity.rank("b", 0.0)) == (None, 2)
    again = dispatched(affinity, "a", 2, 1.0)
    affinity.release(lost, 2.0)
    assert affinity.rank("a", 500.0) == 2, "what ended belonged to the binding that is gone"
    affinity.release(again, 500.0)
    affinity.release(kept, 500.0)
    assert affinity.rank("a", 510.0) is affinity.rank("b", 510.0) is None


def test_a_front_end_that_starts_anew_knows_no_binding():
    affinity = Affinity(10.0)
    hold = dispatched(affinity, "a", 1, 0.0)
    affinity.clear()
    affinity.release(hold, 1.0)
    assert affinity.rank("a", 1.0) is None
    assert len(affinity) == 0


def test_one_session_too_many_is_refused_until_old_ones_are_cleared_away():
    # Bindings of 40 s are looked through every 30 s: what ended at 1 s counts until 60 s.
    affinity = Affinity(40.0, most_sessions=2)
    holds = [dispatched(affinity, name, 0, 0.0) for name in "ab"]
    with pytest.raises(SessionLimitError):
        affinity.take("c", 0.0)
    affinity.release(holds[0], 1.0)
    with pytest.raises(SessionLimitError):
        affinity.take("c", 59.9)
    assert affinity.take("b", 59.9) is not None, "sessions that are bound go on"
    hold = affinity.take("c", 60.0)
    assert hold is not None
    assert len(affinity) == 2


def test_dynamo_has_65536():
    affinity = Affinity(1.0)
    for number in range(65_536):
        dispatched(affinity, str(number), 0, 0.0)
    with pytest.raises(SessionLimitError):
        affinity.take("more", 0.5)


@pytest.mark.parametrize("ttl", [0, 31_536_001, 1.5])
def test_a_time_out_of_range_is_refused(ttl):
    with pytest.raises(ValidationError):
        AffinitySettings(session_affinity_ttl_secs=ttl)
    assert AffinitySettings(session_affinity_ttl_secs=31_536_000).session_affinity_mode == "hard"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["take", "bind", "end", "die"]),
            st.integers(0, 2),
            st.integers(0, 2),
            st.floats(0, 3),
        ),
        max_size=60,
    )
)
def test_a_request_goes_where_the_last_one_of_its_session_was_bound(steps):
    affinity, now_s = Affinity(2.0), 0.0
    bound: dict[str, int] = {}
    held: list[tuple[str, Hold]] = []
    opening: dict[str, Hold] = {}
    ended_s: dict[str, float] = {}
    for kind, name, rank, gap_s in steps:
        session, now_s = "abc"[name], now_s + gap_s
        running = any(of == session for of, _ in held)
        if session in bound and not running and ended_s[session] + 2.0 <= now_s:
            del bound[session]
        assert affinity.rank(session, now_s) == bound.get(session)
        if kind == "take":
            hold = affinity.take(session, now_s)
            assert (hold is None) == (session in opening)
            if hold is not None:
                assert hold.rank == bound.get(session)
                if session in bound:
                    held.append((session, hold))
                else:
                    opening[session] = hold
        elif kind == "bind" and session in opening:
            hold = opening.pop(session)
            affinity.bind(hold, rank, now_s)
            held.append((session, hold))
            bound[session] = rank
        elif kind == "end" and held:
            session, hold = held.pop(rank % len(held))
            affinity.release(hold, now_s)
            ended_s[session] = now_s
        elif kind == "die":
            affinity.forget(rank)
            gone = {of for of, where in bound.items() if where == rank}
            held = [(of, hold) for of, hold in held if of not in gone]
            bound = {of: where for of, where in bound.items() if of not in gone}
