"""Numbers of first and of later turns."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.results.distribution import distribution
from sim.results.metrics import summarise
from sim.results.phases import mark_phases
from sim.results.quantities import COUNT, SECONDS, SHARE, TOKENS, label, names_before_runs, select, unit
from sim.results.turns import by_turn, has_turns
from sim.results.weighted import WeightedSample
from tests.results.runs import two_turns
from tests.results.test_metrics import FACTS, completed, requests, summary

REJECTED = {"status": "rejected", "reason": "exceeds_pool", "session": "s", "turn": 2, "prompt_tokens": 100}


def test_first_turns_are_apart_from_later_ones() -> None:
    found = by_turn(
        requests(
            completed(turn=0, ttft_s=4.0, local_hit_tokens=0, external_hit_tokens=0),
            completed(turn=1, ttft_s=0.5),
            completed(turn=2, ttft_s=1.5, computed_prompt_tokens=90),
            REJECTED,
            completed(turn=0, session="t", ttft_s=2.0),
        ),
        16,
    )
    assert [*found] == ["first", "later"]
    first, later = found["first"], found["later"]
    assert first["requests"] == {"total": 2, "completed": 2}
    assert (first["ttft_s"]["n"], first["ttft_s"]["mean"], first["ttft_s"]["max"]) == (2, 3.0, 4.0)
    assert (first["prompt_tokens"], first["hit_share"]) == (200, 0.35)
    assert (first["computed_tokens"], first["required_tokens"], first["recomputation"]) == (60, 40, 0.5)
    assert later["requests"] == {"total": 3, "completed": 2}
    assert later["ttft_s"]["mean"] == 1.0
    assert (later["prompt_tokens"], later["hit_share"]) == (200, 0.7)
    assert (later["computed_tokens"], later["required_tokens"], later["recomputation"]) == (120, 40, 2.0)


def test_a_run_of_two_turns_has_the_numbers_of_each() -> None:
    found = two_turns().to_dict()
    first, later = found["by_turn"]["first"], found["by_turn"]["later"]
    assert (first["ttft_s"]["p50"], later["ttft_s"]["p50"]) == (1.0, 2.0)
    assert (first["computed_tokens"], first["required_tokens"], first["recomputation"]) == (64, 64, 0.0)
    assert (later["computed_tokens"], later["required_tokens"], later["recomputation"]) == (80, 16, 4.0)
    # 64 of the later turn's 80 tokens are the first turn's prompt, which another worker has.
    assert (first["ideal_hit_share"], later["ideal_hit_share"]) == (0.0, 0.8)
    assert later["hit_share"] == 0.0
    prefill = found["prefill"]
    assert (prefill["ideal_hit_share"], prefill["hit_share"]) == (64 / 144, 0.0)


def test_what_was_not_completed_has_no_latency_and_is_counted() -> None:
    later = by_turn(requests(REJECTED), 16)["later"]
    assert later["requests"] == {"total": 1, "completed": 0}
    assert later["ttft_s"] == distribution(WeightedSample())
    assert (later["prompt_tokens"], later["hit_share"], later["ideal_hit_share"]) == (0, None, None)
    assert (later["computed_tokens"], later["recomputation"]) == (0, None)


def test_a_run_without_second_turns_says_nothing_of_turns() -> None:
    assert "by_turn" not in summary(completed(), completed(session="t"))
    assert not has_turns(requests(completed(turn=0)))


def test_where_first_requests_are_left_out_those_that_follow_stay_later_turns() -> None:
    table = requests(completed(turn=0), completed(turn=1))
    mark_phases(table, {0: "first"})
    found = summarise(table, WeightedSample(), FACTS)["by_turn"]
    assert found["first"]["requests"]["total"] == 0
    assert found["later"]["requests"]["total"] == 1


def test_percentiles_of_few_samples_are_named() -> None:
    thin = summary(completed(turn=0), completed(turn=1))["thin_percentiles"]
    assert "by_turn.later.ttft_s.p95" in thin
    assert "by_turn.first.queue_s.p50" in thin


@pytest.mark.parametrize(
    ("name", "says", "shown"),
    [
        ("by_turn.later.ttft_s.p95", "TTFT p95, later turns", SECONDS),
        ("by_turn.first.hit_share", "Prompt tokens hit, first turns", SHARE),
        ("by_turn.first.recomputation", "Recomputation, first turns", SHARE),
        ("by_turn.later.computed_tokens", "Prompt tokens computed, later turns", TOKENS),
        ("by_turn.later.requests.completed", "Requests completed, later turns", COUNT),
    ],
)
def test_a_number_of_turns_is_called_and_shown_as_that_of_all(name: str, says: str, shown: object) -> None:
    assert label(name) == says
    assert unit(name) is shown
    assert select([name], names_before_runs()) == [name]


def test_all_of_a_table_of_turns_can_be_asked_for_before_runs() -> None:
    latencies = select(["by_turn.later.ttft_s"], names_before_runs())
    assert [name.removeprefix("by_turn.later.ttft_s.") for name in latencies] == [
        *("n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
    ]


COUNTS = ("prompt_tokens", "computed_tokens", "required_tokens")


@given(
    rows=st.lists(
        st.builds(
            dict,
            turn=st.integers(0, 2),
            status=st.sampled_from(["completed", "unfinished"]),
            first_token_s=st.sampled_from([None, 1.0]),
            computed_prompt_tokens=st.integers(0, 100),
            first_tokens=st.integers(0, 100),
            returned_tokens=st.integers(0, 20),
            local_hit_tokens=st.integers(0, 50),
            required_block_tokens=st.sampled_from([112, 64, 16]),
            returned_block_tokens=st.sampled_from([0, 16]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_parts_add_up_to_the_whole(rows: list[dict[str, Any]]) -> None:
    found = summary(*(completed(**row) for row in rows))
    if not any(row["turn"] for row in rows):
        assert "by_turn" not in found
        return
    parts, whole = [*found["by_turn"].values()], found["prefill"]
    for name in COUNTS:
        assert sum(part[name] for part in parts) == whole[name]
    for name in ("total", "completed"):
        assert sum(part["requests"][name] for part in parts) == found["requests"][name]
    for name in ("ttft_s", "tpot_s", "e2e_s", "queue_s"):
        assert sum(part[name]["n"] for part in parts) == found[name]["n"]
    for name in ("hit_share", "ideal_hit_share"):
        tokens = sum((part[name] or 0.0) * part["prompt_tokens"] for part in parts)
        assert tokens == pytest.approx((whole[name] or 0.0) * whole["prompt_tokens"])
