import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from sim.results.distribution import distribution
from sim.results.gauge import Occupancy
from sim.results.latency import latency
from sim.results.metrics import empty_summary, summarise, to_json
from sim.results.quantities import flat
from sim.results.rows import Rows
from sim.results.run_facts import RunFacts
from sim.results.slo import Slo
from sim.results.weighted import WeightedSample

FACTS = RunFacts(simulated_s=10.0, gpus=2, pool=Occupancy(0.5, 1.0), cpu_tier=None)


def requests(*rows):
    kept = Rows(["requests"])
    for index, row in enumerate(rows):
        kept.row("requests", index=index, **row)
    return kept.tables["requests"]


def completed(**more):
    """A request of 100 prompt tokens: 60 hit, 10 loaded, 30 computed, of which 20 for the first time."""
    return {
        "status": "completed",
        "session": "s",
        "worker": 0,
        "routed_s": 0.0,
        "first_scheduled_s": 0.5,
        "first_token_s": 1.0,
        "end_s": 3.0,
        "prompt_tokens": 100,
        "counted_prompt_tokens": 100,
        "output_tokens": 5,
        "local_hit_tokens": 60,
        "external_hit_tokens": 10,
        "computed_prompt_tokens": 30,
        "required_tokens": 20,
        "first_tokens": 20,
        "first_block_tokens": 25,
        "bound_tokens": 4,
        "elsewhere_tokens": 6,
        "recomputed_output_tokens": 0,
        "preemptions": 0,
        "ties": 1,
        "overcredit_tokens": 7,
        "ttft_s": 1.0,
        "tpot_s": 0.5,
        "e2e_s": 3.0,
        "queue_s": 0.25,
    } | more


def summary(*rows, itl=(), **facts):
    sample = WeightedSample()
    sample.add_many(np.array(itl))
    return summarise(requests(*rows), sample, replace(FACTS, **facts))


def test_latencies_by_hand():
    assert latency(1.0, 1.5, 2.0, 3.0, 7.0, output_tokens=5) == (2.0, 1.0, 6.0, 0.5)


@pytest.mark.parametrize("output_tokens", [0, 1])
def test_without_a_second_token_there_is_no_tpot(output_tokens):
    assert latency(1.0, 1.5, 2.0, 3.0, 3.0, output_tokens=output_tokens).tpot_s is None


def test_what_did_not_happen_has_no_latency():
    assert latency(1.0, None, None, None, None, output_tokens=0) == (None, None, None, None)
    assert latency(1.0, 1.5, 2.0, 3.0, None, output_tokens=2) == (2.0, None, None, 0.5)


def test_a_distribution_has_size_mean_percentiles_and_maximum():
    sample = WeightedSample()
    sample.add_many(np.arange(1001.0))

    assert distribution(sample) == {
        "n": 1001,
        "mean": 500.0,
        "p50": 500.0,
        "p90": 900.0,
        "p95": 950.0,
        "p99": 990.0,
        "p99.9": pytest.approx(999.0),
        "max": 1000.0,
    }


def test_requests_are_counted_by_how_they_ended():
    rejected = {"status": "rejected", "reason": "exceeds_pool"}
    found = summary(completed(), rejected, rejected, {"status": "rejected", "reason": "outgrew_pool"})

    assert found["requests"] == {
        "total": 4,
        "completed": 1,
        "rejected": 3,
        "unfinished": 0,
        "rejected_by_reason": {"exceeds_pool": 2, "outgrew_pool": 1},
        "unfinished_by_reason": {},
    }


def test_a_run_in_which_nothing_completes_has_nulls_and_no_zero_latency():
    found = summary({"status": "rejected", "reason": "exceeds_pool", "session": "s"})

    nothing = dict.fromkeys(["mean", "p50", "p90", "p95", "p99", "p99.9", "max"])
    for name in ("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"):
        assert found[name] == {"n": 0, **nothing}
    assert found["thin_percentiles"] == []
    assert found["prefill"]["recomputation"] is None
    assert found["prefill"]["recomputation_by_counter"] is None
    assert found["workers_per_session"] == {"mean": None, "max": None}
    assert found["throughput"]["requests_per_s"] == 0.0


def test_an_empty_run_that_takes_no_time_divides_by_nothing():
    found = summary(simulated_s=0.0)

    assert found["requests"]["total"] == 0
    assert found["throughput"] == {"requests_per_s": None, "output_tokens_per_s": None}
    assert json.loads(to_json(found)) == found


def test_the_summary_of_nothing_has_the_names_of_all_others():
    names = set(flat(empty_summary()))
    tables = {"occupancy.cpu_tier", "occupancy.decode_pool", "pulls", "slo", "goodput"}
    found = {name for name in flat(summary(completed())) if name not in tables}
    assert found <= names
    assert tables <= names


def test_only_completed_requests_have_latencies_in_the_summary():
    found = summary(
        completed(ttft_s=1.0), completed(ttft_s=2.0, tpot_s=None), completed(status="unfinished", ttft_s=99.0)
    )

    assert (found["ttft_s"]["n"], found["ttft_s"]["mean"], found["ttft_s"]["max"]) == (2, 1.5, 2.0)
    assert found["tpot_s"]["n"] == 1


def test_all_that_was_sent_may_be_late_and_what_was_not_is_unknown():
    sent = completed(due_s=1.0, send_s=3.0, late_s=2.0, first_token_s=3.5, end_s=4.0)
    refused = {"status": "rejected", "due_s": 1.0, "send_s": 5.0, "late_s": 4.0}
    found = summary(sent, refused, {"status": "unfinished", "due_s": 2.0}, completed())

    assert (found["late_s"]["n"], found["late_s"]["mean"]) == (2, 3.0)
    assert (found["from_due"]["ttft_s"]["n"], found["from_due"]["ttft_s"]["max"]) == (1, 2.5)
    assert found["from_due"]["e2e_s"]["max"] == 3.0


def test_workers_per_session_counts_where_prefill_was_done():
    found = summary(
        completed(session="a", worker=0),
        completed(session="a", worker=1),
        completed(session="a", worker=1),
        completed(session="b", worker=1),
        {"status": "rejected", "session": "b", "worker": 2, "routed_s": 0.0},
        {"status": "rejected", "session": "c", "worker": 2, "routed_s": 0.0},
    )

    assert found["workers_per_session"] == {"mean": 1.5, "max": 2}


def test_router_counts_decisions_ties_and_overcredit():
    unrouted = {"status": "unfinished"}
    found = summary(completed(ties=1), completed(ties=2), completed(ties=8), unrouted)

    assert found["router"] == {"decisions": 3, "ties": 2, "overcredit_tokens": 21}


def test_throughput_and_gpu_hours_are_over_the_simulated_time():
    found = summary(completed(), completed(), completed(status="unfinished"), simulated_s=4.0, gpus=8)

    assert found["throughput"] == {"requests_per_s": 0.5, "output_tokens_per_s": 2.5}
    assert found["gpu_hours"] == 8 * 4.0 / 3600
    assert found["simulated_s"] == 4.0


def test_occupancy_is_passed_on_and_null_without_a_cpu_tier():
    assert summary()["occupancy"] == {
        "pool": {"mean": 0.5, "max": 1.0},
        "cpu_tier": None,
        "decode_pool": None,
    }
    full = summary(cpu_tier=Occupancy(0.25, 0.75))["occupancy"]
    assert full["cpu_tier"] == {"mean": 0.25, "max": 0.75}


def test_goodput_counts_completed_requests_within_every_limit():
    rows = (
        completed(ttft_s=1.0, tpot_s=0.5),
        completed(ttft_s=1.0, tpot_s=0.51),
        completed(ttft_s=1.1, tpot_s=0.1),
        completed(ttft_s=0.1, tpot_s=None),
        completed(status="unfinished"),
    )
    found = summary(*rows, slo=Slo(ttft_s=1.0, tpot_s="500ms"))

    assert found["slo"] == {"ttft_s": 1.0, "tpot_s": 0.5}
    assert found["goodput"] == {"good_requests": 2, "share": 0.4, "requests_per_s": 0.2}


def test_without_an_slo_there_is_no_goodput():
    assert summary(completed())["goodput"] is None


def test_an_slo_without_a_limit_is_refused():
    with pytest.raises(ValidationError, match="at least one of ttft_s, tpot_s, e2e_s"):
        Slo()


def test_percentiles_from_too_few_samples_are_named():
    def thin(requests, gaps, name):
        found = summary(*[completed()] * requests, itl=np.zeros(gaps))["thin_percentiles"]
        return [percentile for percentile in found if percentile.startswith(name)]

    assert thin(100, 10_000, "itl_s") == []
    assert thin(100, 9_999, "itl_s") == ["itl_s.p99.9"]
    assert thin(100, 10_000, "ttft_s") == ["ttft_s.p95", "ttft_s.p99", "ttft_s.p99.9"]
    assert thin(99, 10_000, "ttft_s") == ["ttft_s.p90", "ttft_s.p95", "ttft_s.p99", "ttft_s.p99.9"]
    assert thin(19, 0, "e2e_s")[0] == "e2e_s.p50"


@pytest.mark.slow
def test_json_is_the_same_bytes_whatever_the_hash_seed():
    code = (
        "from tests.results.test_metrics import completed, summary, to_json;"
        "print(to_json(summary(completed(session='a'), completed(session='b', worker=3), itl=[0.1, 0.3])))"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        python = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        )
        texts.add(python.stdout)

    assert len(texts) == 1
    assert json.loads(texts.pop())["workers_per_session"]["max"] == 1


def test_json_refuses_what_is_not_a_number():
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json({"itl_s": float("inf")})
