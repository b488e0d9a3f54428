"""When requests stored blocks, and which output told it."""

from math import inf

import pytest

from sim.validation.replay.events.stored import Stored, engine_logs
from tests.validation.replay.events.small_events import small

EVENTS = [
    (0.2, "stored", [11, 12], None),
    (0.4, "stored", [19], 12),
    (1.1, "removed", [19], None),
    (1.1, "stored", [13, 14], 11),
    (1.14, "stored", [15], 14),
]


def test_events_belong_to_the_request_that_they_go_on_from() -> None:
    (log,) = engine_logs(small(worker1=EVENTS), 16)
    assert log.engine.worker == "worker1"
    assert log.stored == {
        1: [Stored(0, 2, pytest.approx(0.2), 0), Stored(2, 3, pytest.approx(0.4), 1)],
        2: [Stored(1, 3, pytest.approx(1.1), 3), Stored(3, 4, pytest.approx(1.14), 4)],
    }


def test_a_log_answers_when_a_block_was_stored() -> None:
    (log,) = engine_logs(small(worker1=EVENTS), 16)
    assert log.stored_s(1, 1) == pytest.approx(0.2)
    assert log.stored_s(2, 3) == pytest.approx(1.14)
    assert log.stored_s(2, 0) is None  # found in the cache
    assert log.stored_s(0, 0) is None


def test_outputs_before_and_after_a_time() -> None:
    (log,) = engine_logs(small(worker1=EVENTS), 16)
    assert log.outputs_s == pytest.approx([0.2, 0.4, 1.1, 1.14])
    assert log.next_output_s(0.3) == pytest.approx(0.4)
    assert log.next_output_s(2.0) == inf
    first = log.first(2)
    assert first is not None
    assert log.output_before_s(first.time_s) == pytest.approx(0.4)
    assert log.output_before_s(first.time_s, steps=2) == pytest.approx(0.2)
    assert log.output_before_s(first.time_s, steps=3) == 0.0


def test_who_stored_only_generated_tokens_stored_nothing_of_its_prompt() -> None:
    (log,) = engine_logs(small(worker1=[(0.2, "stored", [11, 12], None), (0.4, "stored", [19], 12)]), 16)
    assert log.first(1) == Stored(0, 2, pytest.approx(0.2), 0)
    assert log.first(2) is None
    # Stored before the requests came, so that it was there when request 1 looked.
    (log,) = engine_logs(small(worker1=[(0.01, "stored", [11, 12], None), (0.4, "stored", [19], 12)]), 16)
    assert log.first(1) is None


def test_an_engine_without_events_has_no_log() -> None:
    assert engine_logs(small(), 16) == []
