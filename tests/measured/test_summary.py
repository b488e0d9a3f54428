import json
from pathlib import Path
from typing import Any

import pytest

from sim.measured.account import account
from sim.measured.overlap import overlap
from sim.measured.run import load_run
from sim.measured.summary import summarise
from tests.measured.small_run import SMALL, WORKERS, bench, copy, lines


def summary(folder: Path, **texts: str | None) -> dict[str, Any]:
    return summarise(load_run(copy(folder / "run", **texts)))


def test_required_tokens_are_those_that_no_earlier_prompt_had() -> None:
    found = account(load_run(SMALL))
    assert found is not None
    assert (found.required_tokens, found.required_block_tokens, found.elsewhere_tokens) == (102, 102, 32)


def test_required_tokens_count_in_order_of_sending(tmp_path: Path) -> None:
    # Request 2 leaves first: now request 0 has 32 tokens that were sent before, and request 1 still 16.
    late = bench() | {"start_times": [500.2, 500.3, 500.0]}
    found = account(load_run(copy(tmp_path / "run", bench_json=json.dumps(late))))
    assert found is not None
    assert found.required_tokens == 70 + 8 + 24


def test_failed_requests_require_nothing(tmp_path: Path) -> None:
    failed = bench() | {"errors": ["", "gone", ""], "input_lens": [40, 0, 70], "completed": 2, "failed": 1}
    found = account(load_run(copy(tmp_path / "run", bench_json=json.dumps(failed))))
    assert found is not None
    assert found.required_tokens == 40 + 38


def test_kv_events_of_an_engine_that_nothing_joins_to_the_router_are_named(tmp_path: Path) -> None:
    metrics = {f"metrics_{when}_worker{n}_prom": None for when in ("before", "after") for n in (0, 1)}
    run = load_run(copy(tmp_path / "run", **metrics))
    assert [worker.name for worker in run.workers] == ["worker1", "worker2"]
    assert "KV events of worker0: without metrics nothing tells which engine that is" in run.notes
    assert not any("KV events" in note for note in load_run(SMALL).notes)


def test_without_workers_nothing_is_elsewhere(tmp_path: Path) -> None:
    found = account(load_run(copy(tmp_path / "run", router_log=None)))
    assert found is not None
    assert (found.required_tokens, found.elsewhere_tokens) == (102, None)
    assert account(load_run(copy(tmp_path / "b", trace_jsonl=None))) is None


def test_recomputation_is_by_the_engines_counters(tmp_path: Path) -> None:
    prefill = summary(tmp_path)["prefill"]
    assert prefill["by_source"] == {"local_compute": 134, "local_cache_hit": 16, "external_kv_transfer": 0}
    assert (prefill["prompt_tokens"], prefill["sent_prompt_tokens"]) == (150, 150)
    assert (prefill["recomputed_tokens"], prefill["elsewhere_tokens"]) == (32, 32)
    assert prefill["recomputation_by_counter"] == pytest.approx(32 / 102)
    assert prefill["cached_tokens_of_frontend"] is None


def test_latencies_are_the_clients(tmp_path: Path) -> None:
    found = summary(tmp_path)
    assert (found["ttft_s"]["n"], found["ttft_s"]["p50"], found["ttft_s"]["mean"]) == (
        3,
        0.2,
        pytest.approx(0.2),
    )
    assert (found["itl_s"]["n"], found["itl_s"]["p50"]) == (2, pytest.approx(0.055))
    # One output token makes no TPOT.
    assert (found["tpot_s"]["n"], found["tpot_s"]["max"]) == (2, pytest.approx(0.06))
    assert found["e2e_s"]["max"] == pytest.approx(0.36)
    assert (found["client_wait_s"]["p50"], found["client_wait_s"]["max"]) == (0.0, 0.05)
    assert "ttft_s.p90" in found["thin_percentiles"]


def test_sessions_meet_workers(tmp_path: Path) -> None:
    found = summary(tmp_path)
    assert found["requests"] == {"total": 3, "completed": 3, "failed": 0, "sessions": 2}
    assert found["workers_per_session"] == {"mean": 1.5, "min": 1, "max": 2, "by_session": {"a": 2, "b": 1}}
    assert found["decode_workers_per_session"] is None
    assert [worker["routed_requests"] for worker in found["workers"]] == [1, 2]
    assert [worker["id"] for worker in found["workers"]] == [str(worker_id) for worker_id in WORKERS]
    assert found["preemptions"] == 1
    assert found["workers"][0]["kv_events"] == {
        "batches": 1,
        "missing_batches": 0,
        "placeholder_blocks": 0,
        "stored_blocks": {"GPU": 2},
        "removed_blocks": {},
        "cleared": 0,
    }
    assert found["workers"][1]["kv_events"] is None


def test_queues_are_the_engines_histograms(tmp_path: Path) -> None:
    # One request of worker 0 and one of worker 1 below 0.3 s, another of worker 1 below 0.5 s.
    assert summary(tmp_path)["queue"] == {
        "aggregated": {
            "n": 3,
            "mean_s": pytest.approx(0.2),
            "p50_between_s": [0.0, 0.3],
            "p99_between_s": [0.3, 0.5],
        }
    }


def test_ties_and_cheapest_choices_are_counted(tmp_path: Path) -> None:
    assert summary(tmp_path)["router"] == {
        "aggregated": {"decisions": 3, "with_costs": 3, "ties": 1, "cheapest_taken": 3, "failed": 0}
    }
    # Request 2 goes where it costs more.
    dearer = "\n".join(lines("router.log")).replace("7.375 = prefill", "9.375 = prefill")
    found = summarise(load_run(copy(tmp_path / "dearer", router_log=dearer)))
    assert found["router"]["aggregated"]["cheapest_taken"] == 2


def test_the_routers_overlap_is_held_against_the_engines_hits(tmp_path: Path) -> None:
    found = overlap(load_run(SMALL))
    assert (found.requests, found.router_tokens, found.credited_tokens) == (3, 16, 16)
    assert (found.compared, found.engine_tokens, found.equal) == (3, 16, 3)
    usage = "\n".join(lines("usage.jsonl"))
    more = usage.replace('"cached_tokens": 16', '"cached_tokens": 32')
    found = overlap(load_run(copy(tmp_path / "more", usage_jsonl=more)))
    assert (found.equal, found.engine_more, found.engine_less) == (2, 1, 0)
    found = overlap(load_run(copy(tmp_path / "none", usage_jsonl=None)))
    assert (found.requests, found.router_tokens, found.compared) == (3, 16, 0)


@pytest.mark.parametrize(("weight", "cached"), [(None, "2.50"), ("0", "1.00"), ("1", "3.00")])
def test_blocks_of_lower_tiers_count_whole_whatever_their_weight(
    tmp_path: Path, weight: str | None, cached: str
) -> None:
    log = lines("router.log")
    # Request 2: one block on the GPU, two behind it in the CPU tier; the log has their weighted sum.
    host = [
        line.replace("host_pinned_blocks=0", "host_pinned_blocks=2") if "aaaa-2" in line else line
        for line in log
    ]
    text = "\n".join(host).replace(
        "with 1.00 effective cached blocks: 7.375", f"with {cached} effective cached blocks: 7.375"
    )
    option = f" --router-host-cache-hit-weight {weight}" if weight else ""
    toml = f'[commands]\nfrontend = "python -m dynamo.frontend --router-mode kv{option}"'
    found = overlap(load_run(copy(tmp_path / "run", router_log=text, **{"run.toml": toml})))
    assert (found.router_tokens, found.host_blocks, found.host_requests) == (48, 2, 1)
    assert found.engine_less == 1


def test_prompts_that_nobody_sent_are_noticed(tmp_path: Path) -> None:
    metrics = "\n".join(lines("metrics-after.worker0.prom")).replace(
        '"local_compute"} 45', '"local_compute"} 65'
    )
    notes = summary(tmp_path, metrics_after_worker0_prom=f"{metrics}\n")["notes"]
    assert any(
        "the engines counted 170 prompt tokens, the completed requests have 150" in note for note in notes
    )


def test_totals_are_enough(tmp_path: Path) -> None:
    lists = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")
    totals = {key: value for key, value in bench().items() if key not in lists}
    (tmp_path / "bench.json").write_text(json.dumps(totals), encoding="utf-8")
    found = summarise(load_run(tmp_path))
    assert found["requests"] == {"total": 3, "completed": 3, "failed": 0, "sessions": 0}
    assert found["ttft_s"]["n"] == 0
    assert found["stated"] == {"ttft_s": {"mean": 0.2, "p99": 0.298}}
    assert found["prefill"]["by_source"] is None
    assert found["workers"] == []


def test_counters_that_cover_fewer_prompts_tell_no_recomputation(tmp_path: Path) -> None:
    # As if worker1 had been asked before it served anything: 70 of 134 tokens are missing.
    before = (SMALL / "metrics-before.worker1.prom").read_text(encoding="utf-8")
    found = summarise(load_run(copy(tmp_path / "run", metrics_after_worker1_prom=before)))
    assert found["prefill"]["by_source"]["local_compute"] < found["prefill"]["required_tokens"]
    assert found["prefill"]["recomputed_tokens"] is None
    assert found["prefill"]["recomputation_by_counter"] is None
    assert any("the engines counted" in note for note in found["notes"])
