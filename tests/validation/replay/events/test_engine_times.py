"""When requests came to their engines, and when pulls ended."""

from sim.validation.replay.events.engine_times import Pulled, Queued, engine_times
from sim.validation.replay.events.engines import RecordedEngine
from sim.validation.replay.events.stored import EngineLog, Stored

DISPATCH_S = 0.5


def log(begins_s: dict[int, float], outputs_s: list[float], stored: dict[int, Stored], *, decode=False):
    """Return the log of an engine whose prompts have 4 blocks each."""
    engine, spans = (
        RecordedEngine("engine", decode, begins_s, {}),
        {index: [one] for index, one in stored.items()},
    )
    return EngineLog(engine, outputs_s, outputs_s, spans, dict.fromkeys(begins_s, 4))


def queued(found: EngineLog) -> dict[int, Queued]:
    times = engine_times([found], DISPATCH_S)
    return {index: one for (index, decode), one in times.queued.items() if decode == found.engine.decode}


def test_a_request_came_after_the_output_before_the_one_that_has_its_blocks() -> None:
    found = log({0: 1.0, 1: 1.5}, [2.0, 5.0, 9.0], {0: Stored(0, 4, 2.0, 0), 1: Stored(0, 4, 9.0, 1)})
    assert queued(found) == {0: Queued(1.5, 0), 1: Queued(5.0, 1)}


def test_those_of_one_step_were_there_together_in_the_order_of_their_events() -> None:
    found = log({0: 1.0, 1: 1.25}, [4.0], {0: Stored(0, 4, 4.0, 7), 1: Stored(0, 4, 4.0, 6)})
    assert queued(found) == {1: Queued(1.75, 0), 0: Queued(1.75, 1)}


def test_who_stored_nothing_came_after_those_sent_before() -> None:
    found = log({0: 1.0, 1: 1.25, 2: 6.0}, [3.0, 4.0], {0: Stored(0, 4, 4.0, 1)})
    assert queued(found) == {0: Queued(3.0, 0), 1: Queued(3.0, 1), 2: Queued(6.5, 2)}
    # Blocks behind the prompt are generated ones.
    found = log({0: 1.0}, [4.0], {0: Stored(4, 5, 4.0, 1)})
    assert queued(found) == {0: Queued(1.5, 0)}


def test_a_decode_engine_admits_a_step_before_it_stores() -> None:
    found = log({0: 1.0, 1: 1.25}, [2.0, 5.0, 9.0], {1: Stored(0, 4, 9.0, 1)}, decode=True)
    assert queued(found) == {0: Queued(1.5, 0), 1: Queued(2.0, 1)}


def test_a_decode_engine_has_those_in_the_queue_that_come_before() -> None:
    stored = {0: Stored(0, 4, 9.0, 1), 1: Stored(0, 4, 9.0, 0)}
    found = log({0: 1.0, 1: 1.25}, [9.0], stored, decode=True)
    assert queued(found) == {1: Queued(1.75, 0), 0: Queued(1.75, 1)}
    found = log({0: 1.0, 1: 1.25}, [9.0], {0: stored[1], 1: stored[0]}, decode=True)
    assert queued(found) == {0: Queued(1.5, 0), 1: Queued(1.75, 1)}


def test_a_pull_ended_after_the_output_before_its_blocks_turned_up() -> None:
    stored = {0: Stored(0, 4, 9.0, 1), 1: Stored(0, 4, 9.0, 2), 2: Stored(0, 4, 5.0, 0)}
    found = log({0: 1.0, 1: 1.25, 2: 1.5, 3: 1.75}, [2.0, 5.0, 9.0], stored, decode=True)
    assert engine_times([found], DISPATCH_S).pulled == {
        0: Pulled(5.0, 9.0, frozenset({0, 1})),
        1: Pulled(5.0, 9.0, frozenset({0, 1})),
        2: Pulled(2.0, 5.0, frozenset({2})),
    }
