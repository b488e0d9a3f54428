import pytest

from sim.ledger.account import CAUSES
from tests.results.test_metrics import completed, summary


def test_the_counters_say_nothing_if_they_leave_out_what_was_computed():
    """The second one computed 30 tokens, 20 of them first, and never came to its first token."""
    stuck = completed(status="unfinished", first_token_s=None, end_s=None)
    prefill = summary(completed(), stuck)["prefill"]

    assert prefill["prompt_tokens"] == 100
    assert (prefill["required_tokens"], prefill["computed_tokens"]) == (40, 60)
    assert prefill["uncounted_tokens"] == 30
    assert prefill["recomputation"] == 0.5
    assert prefill["recomputation_by_counter"] is None


def test_prefill_adds_up():
    again = {"computed_prompt_tokens": 50, "preempted_tokens": 20, "recomputed_output_tokens": 3}
    preempted = completed(preemptions=1, **again)
    waiting = {"status": "unfinished", "prompt_tokens": 100, "computed_prompt_tokens": 0, "first_tokens": 0}
    found = summary(completed(), preempted, waiting)
    prefill = found["prefill"]

    assert prefill == {
        "prompt_tokens": 200,
        "hit_share": 0.7,
        # Nothing is said of blocks: all but the last token of each prompt.
        "ideal_hit_share": 0.99,
        "required_tokens": 40,
        "required_block_tokens": 50,
        "returned_tokens": 0,
        "returned_hit_tokens": 0,
        "computed_tokens": 80,
        "recomputed_output_tokens": 3,
        "recomputation": 1.0,
        # The counters do not see that a preempted prompt was computed again: (60 - 40) / 40.
        "recomputation_by_counter": 0.5,
        "uncounted_tokens": 0,
        "by_cause": dict.fromkeys(CAUSES, 0) | {"preempted": 20, "bound": 8, "elsewhere": 12},
        "by_source": {"local_compute": 60, "local_cache_hit": 120, "external_kv_transfer": 20},
    }
    assert sum(prefill["by_cause"].values()) == prefill["computed_tokens"] - prefill["required_tokens"]
    assert found["preemptions"] == 1


def test_shares_are_ratios_of_sums_not_means_of_ratios():
    """One block without a hit and a hundred with 99 hits: 99 of 101, not the mean of 0 and 0.99."""
    nothing = completed(counted_prompt_tokens=1, local_hit_tokens=0, external_hit_tokens=0)
    most = completed(counted_prompt_tokens=100, local_hit_tokens=99, external_hit_tokens=0)
    prefill = summary(nothing, most)["prefill"]

    assert prefill["by_source"]["local_cache_hit"] / prefill["prompt_tokens"] == pytest.approx(99 / 101)
