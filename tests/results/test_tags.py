"""Numbers of requests by their tags."""

import pytest

from sim.results.distribution import distribution
from sim.results.metrics import summarise
from sim.results.phases import mark_phases
from sim.results.quantities import SECONDS, SHARE, label, names_before_runs, select, unit
from sim.results.tags import by_tag, mark_tags
from sim.results.weighted import WeightedSample
from tests.results.test_metrics import FACTS, completed, requests, summary

RUNNING = {"status": "unfinished", "session": "s", "send_s": 4.0, "prompt_tokens": 100}


def tagged(tags, *rows):
    table = requests(*rows)
    mark_tags(table, tags)
    return table


def test_each_tag_has_the_numbers_of_its_requests_in_the_order_of_their_first() -> None:
    table = tagged(
        ["slow", None, "fast", "slow"],
        completed(send_s=1.0, end_s=3.0, ttft_s=0.5),
        completed(send_s=0.0, end_s=9.0, ttft_s=8.0),
        completed(send_s=2.0, end_s=4.0, ttft_s=0.25),
        completed(send_s=2.5, end_s=6.0, ttft_s=1.5),
    )
    found = by_tag(table, 16)
    assert [*found] == ["slow", "fast"]
    slow = found["slow"]
    assert slow["requests"] == {"total": 2, "completed": 2}
    assert (slow["ttft_s"]["n"], slow["ttft_s"]["mean"], slow["ttft_s"]["max"]) == (2, 1.0, 1.5)
    assert (slow["prompt_tokens"], slow["hit_share"]) == (200, 0.7)
    assert (slow["from_s"], slow["until_s"]) == (1.0, 6.0)
    assert (slow["requests_per_s"], slow["output_tokens_per_s"]) == (0.4, 2.0)
    assert found["fast"]["ttft_s"]["mean"] == 0.25


def test_what_was_not_completed_has_no_latency_and_no_rate() -> None:
    found = by_tag(tagged(["late"], RUNNING), 16)["late"]
    assert found["requests"] == {"total": 1, "completed": 0}
    assert found["ttft_s"] == distribution(WeightedSample())
    assert (found["prompt_tokens"], found["hit_share"]) == (0, None)
    assert (found["from_s"], found["until_s"]) == (4.0, None)
    assert (found["requests_per_s"], found["output_tokens_per_s"]) == (None, None)


def test_requests_that_are_left_out_count_for_no_tag() -> None:
    table = requests(completed(send_s=0.0), completed(send_s=0.0))
    mark_phases(table, {0: "first"})
    mark_tags(table, ["a", "a"])
    sample = WeightedSample()
    assert summarise(table, sample, FACTS)["by_tag"]["a"]["requests"]["total"] == 1


def test_a_run_without_tags_says_nothing_of_them() -> None:
    assert "by_tag" not in summary(completed())
    assert by_tag(requests(completed()), 16) == {}


@pytest.mark.parametrize(
    ("name", "says", "shown"),
    [
        ("by_tag.rate-3.ttft_s.p90", "rate-3: TTFT p90", SECONDS),
        ("by_tag.rate-3.hit_share", "rate-3: Prompt tokens hit", SHARE),
    ],
)
def test_a_number_of_a_tag_is_called_and_shown_as_that_of_all(name: str, says: str, shown: object) -> None:
    assert label(name) == says
    assert unit(name) is shown
    assert select([name], names_before_runs()) == [name]
