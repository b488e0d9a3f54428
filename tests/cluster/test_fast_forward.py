"""What a worker fast-forwards, and who sees it when: steps of 1 s, blocks of 16 tokens, a pool of 4."""

import pytest

from sim.events.clock import Phase
from tests.cluster.bench import Bench
from tests.engine.helpers import Prompts

# The first request leaves two blocks cached. Tokens 33 and 49 of the second are planned at 26 and 42 s: each
# takes a block that holds one of those, and this is published with the output a second later.
FIRST_S, SECOND_S = 26, 42


def bench(**options):
    """A worker that is fast-forwarded from 11 s on, up to the last tokens at 51 s."""
    made, prompts = Bench(4, **options), Prompts()
    first = made.arrive(0, prompts.request(("a", 32)))
    made.arrive(10, prompts.request(("b", 16), output=40))
    made.cached = first.block_ids
    made.prompts = prompts
    return made


def removed(made):
    """(when it is published, blocks) of what was evicted."""
    return [(output_s, [*event.blocks]) for output_s, event in made.heard if not event.stored]


@pytest.mark.parametrize("fast_forward", [True, False])
def test_evictions_are_published_with_the_outputs_after_them(fast_forward):
    made = bench(fast_forward=fast_forward)
    made.run()
    last, first = made.cached[1], made.cached[0]
    one_by_one = [(FIRST_S + 1, [last]), (SECOND_S + 1, [first])]
    # Of those that nobody looked for in time, one message tells as much.
    assert removed(made) == ([(SECOND_S + 1, [last, first])] if fast_forward else one_by_one)
    assert made.ends == [(0, 1), (1, 50)]


def test_what_some_may_not_have_heard_of_yet_goes_out_by_itself():
    made = bench()
    made.event_delay_s = 20
    made.env.run(until=48)
    made.lazy_updates.settle(48, -1)
    assert removed(made) == [(FIRST_S + 1, [made.cached[1]]), (SECOND_S + 1, [made.cached[0]])]


def test_pools_are_said_to_fill_up_when_they_do():
    made = bench()
    made.run()
    assert made.grown == [(3, FIRST_S), (4, SECOND_S)]


def test_nothing_is_carried_out_before_somebody_looks():
    made = bench()
    made.env.run(until=45)
    assert made.grown == []
    assert removed(made) == []
    made.lazy_updates.settle(30, -1)
    assert made.grown == [(3, FIRST_S)]
    assert removed(made) == [(FIRST_S + 1, [made.cached[1]])]
    made.lazy_updates.settle(45, -1)
    assert made.grown == [(3, FIRST_S), (4, SECOND_S)]
    made.run()
    assert len(removed(made)) == 2, "what was allocated is not allocated again"
    assert made.ends == [(0, 1), (1, 50)]


def test_who_looks_at_the_instant_of_a_step_sees_it_only_after_the_worker_had_its_say():
    made = bench()
    made.env.run(until=45)
    made.lazy_updates.settle(FIRST_S, -1)
    made.lazy_updates.settle(FIRST_S, 0)
    assert made.grown == []
    made.lazy_updates.settle(FIRST_S, 1)
    assert made.grown == [(3, FIRST_S)]


def test_an_arrival_carries_out_what_was_before_it_and_ends_the_run():
    made = bench()
    made.arrive(30.5, made.prompts.request(("c", 16)))
    made.env.run(until=30.75)
    assert made.grown == [(3, FIRST_S)]
    assert [when for request, when in made.tokens if request == 1][-1] == 30
    made.lazy_updates.settle(30.75, -1)
    assert made.grown == [(3, FIRST_S)], "it is fast-forwarded no more"


def test_what_was_allocated_at_the_instant_of_an_arrival_stays_allocated():
    made = bench()
    made.env.run(until=25.5)

    def look_and_report():
        made.lazy_updates.settle(FIRST_S, 1)  # a later worker plans, and what it finds concerns this one
        made.worker.report(read=[])

    made.env.at(FIRST_S, Phase.SCHEDULE, 1, look_and_report)
    made.run()
    assert made.grown[0] == (3, FIRST_S)
    assert removed(made) == [(FIRST_S + 1, [made.cached[1]]), (SECOND_S + 1, [made.cached[0]])]
    assert made.ends == [(0, 1), (1, 50)]
