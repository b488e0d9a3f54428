"""Which block of which prompt a recorded event is about."""

from dataclasses import replace

import pytest

from sim.measured.formats.kv_events import RecordedKvEvent
from sim.validation.replay.events.identity import identify, prompt_blocks
from tests.validation.replay.events.small_events import BLOCKS, small


def blocks_of(worker: str = "worker1", **workers):
    recorded = small(**workers)
    return [event.blocks for event in identify(recorded, BLOCKS)[worker]]


def test_blocks_of_prompts_are_numbered_by_prefix() -> None:
    assert prompt_blocks(small(), 16) == BLOCKS


def test_a_chain_of_hashes_is_the_prompt_that_came_and_ends_where_it_does() -> None:
    events = [
        (0.2, "stored", [11, 12], None),
        (1.1, "stored", [13, 14, 15], 11),
        (1.1, "removed", [12], None),
    ]
    assert blocks_of(worker1=events) == [(0, 2), (1, 3, 4), (2,)]


def test_a_chunk_ends_where_those_end_that_go_on_from_it() -> None:
    # At 1.1 s both prompts have come; the first chunk has 2 blocks, as the prompt of session b has.
    events = [(1.1, "stored", [11, 12], None), (1.1, "stored", [13, 14], 12)]
    assert blocks_of(worker1=events) == [(0, 2), (-1, -2)]
    events = [(1.1, "stored", [11, 12, 13], None), (1.2, "stored", [14], 13)]
    assert blocks_of(worker1=events) == [(0, 1, 3), (4,)]


def test_what_fits_no_prompt_holds_generated_tokens() -> None:
    events = [(0.2, "stored", [11, 12], None), (0.3, "stored", [19], 12), (0.4, "stored", [20], 19)]
    assert blocks_of(worker1=events) == [(0, 2), (-1,), (-2,)]


def test_blocks_of_before_the_recording_are_no_prompts() -> None:
    assert blocks_of(worker1=[(0.1, "removed", [7], None), (0.2, "stored", [8], 7)]) == [(-1,), (-2,)]


def test_engines_that_hash_alike_know_each_others_blocks() -> None:
    found = identify(
        small(
            worker0=[(0.1, "stored", [11, 12], None)],
            worker1=[(0.2, "stored", [11, 13], None), (1.1, "stored", [12], 11)],
        ),
        BLOCKS,
    )
    assert [event.blocks for event in found["worker1"]] == [(0, 2), (1,)]


def test_times_are_those_of_the_replay_and_places_those_in_the_prompt() -> None:
    events = [(0.2, "stored", [11, 12], None), (0.3, "cleared", [], None)]
    first, last = identify(small(worker1=events), BLOCKS)["worker1"]
    assert (first.time_s, first.parent, first.stop) == (pytest.approx(0.2), None, 2)
    assert (last.blocks, last.parent) == ((), None)


def test_other_tiers_and_recurrent_groups_are_left_out() -> None:
    recorded = small(worker1=[(0.2, "stored", [11, 12], None)])
    (event,) = recorded.run.kv_events["worker1"].events

    def kept(**changes: object) -> list[RecordedKvEvent]:
        log = replace(recorded.run.kv_events["worker1"], events=(replace(event, **changes),))
        run = replace(recorded.run, kv_events={"worker1": log})
        return list(identify(replace(recorded, run=run), BLOCKS).get("worker1", ()))

    assert len(kept()) == 1
    assert kept(medium="CPU") == kept(group=0, group_kind="mamba") == []
