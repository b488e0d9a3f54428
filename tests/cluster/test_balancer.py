"""Which front end a request comes to."""

from collections import Counter

import pytest

from sim.cluster.balancer import Balancer
from tests.clusters import trace, turn

REQUESTS = trace(*(turn(k, 16, 1, [k], f"s{k % 200}") for k in range(800))).requests


def chosen(balancer, requests=REQUESTS):
    return [balancer.choose(request) for request in requests]


def test_one_takes_all():
    assert chosen(Balancer()) == [0] * len(REQUESTS)


def test_in_turn_those_that_are_there():
    balancer = Balancer(3, "round-robin")
    assert chosen(balancer, REQUESTS[:4]) == [0, 1, 2, 0]
    balancer.close(1)
    assert chosen(balancer, REQUESTS[:4]) == [0, 2, 0, 2]
    balancer.reopen(1)
    assert {*chosen(balancer, REQUESTS[:3])} == {0, 1, 2}


@pytest.mark.parametrize("rule", ["session", "random"])
def test_draws_are_even_and_those_of_their_seed(rule):
    found = chosen(Balancer(2, rule, seed=1))
    assert found == chosen(Balancer(2, rule, seed=1)) != chosen(Balancer(2, rule, seed=2))
    # 200 or 800 draws: 4 standard deviations are 114 or 57 of 800 requests
    assert abs(Counter(found)[0] - 400) < (114 if rule == "session" else 57)


def test_the_requests_of_a_session_come_to_one_front_end():
    found = chosen(Balancer(4, "session"))
    assert found[:200] * 4 == found
    assert {*found} == {0, 1, 2, 3}


def test_sessions_of_one_that_is_away_connect_to_others_and_stay_there():
    balancer = Balancer(3, "session")
    before = chosen(balancer)
    balancer.close(1)
    meanwhile = chosen(balancer)
    assert {*meanwhile} == {0, 2}
    assert all(now == then for now, then in zip(meanwhile, before, strict=True) if then != 1)
    balancer.reopen(1)
    assert chosen(balancer) == meanwhile


@pytest.mark.parametrize("rule", ["session", "random", "round-robin"])
def test_where_all_are_away_nobody_is(rule):
    balancer = Balancer(2, rule)
    for front_end in balancer.front_ends:
        balancer.close(front_end)
    assert chosen(balancer, REQUESTS[:3]) == [None] * 3
