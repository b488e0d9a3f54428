from pathlib import Path

from sim.measured.formats.prometheus import Window, parse
from sim.measured.formats.router_log import LoggedDecision
from sim.measured.run import load_run
from sim.measured.workers import find_workers
from tests.measured.small_run import SMALL, WORKERS, copy, jsonl


def text(name: str) -> str:
    return (SMALL / name).read_text(encoding="utf-8")


def engine(component: str, worker_id: str = "3e9") -> Window:
    return Window(
        [
            parse(
                f'dynamo_component_uptime_seconds{{worker_id="{worker_id}"}} 1\n'
                f'dynamo_component_requests_total{{dynamo_component="{component}"}} 1\n'
                "vllm:prompt_tokens_total 1\n",
                "here",
            )
        ]
    )


def test_engines_have_id_pool_and_what_their_counters_rose_by() -> None:
    first, second = load_run(SMALL).workers
    assert [(worker.name, worker.worker_id) for worker in (first, second)] == [
        ("worker0", WORKERS[0]),
        ("worker1", WORKERS[1]),
    ]
    assert (second.pool, second.block_tokens, second.kv_blocks) == ("aggregated", 16, 320)
    assert first.counters is not None
    assert second.counters is not None
    assert first.counters.by_source == {
        "local_compute": 40,
        "local_cache_hit": 0,
        "external_kv_transfer": 0,
    }
    assert second.counters.by_source == {
        "local_compute": 94,
        "local_cache_hit": 16,
        "external_kv_transfer": 0,
    }
    assert (first.counters.preemptions, second.counters.preemptions) == (0, 1)
    assert second.counters.pulled_bytes is None


def test_a_prefill_worker_makes_the_others_decode_workers() -> None:
    windows = {"d": engine("backend", "a"), "p": engine("prefill", "b")}
    assert [(worker.name, worker.worker_id, worker.pool) for worker in find_workers(windows, ())] == [
        ("d", 10, "decode"),
        ("p", 11, "prefill"),
    ]
    assert [worker.pool for worker in find_workers({"a": engine("backend")}, ())] == ["aggregated"]


def test_workers_without_metrics_are_numbered_by_id() -> None:
    windows = {"worker0": engine("backend", "5")}
    decisions = [LoggedDecision("r", "aggregated", 0.0, worker_id) for worker_id in (9, 5, 7)]
    found = find_workers(windows, decisions)
    assert [(worker.name, worker.worker_id) for worker in found] == [
        ("worker0", 5),
        ("worker1", 7),
        ("worker2", 9),
    ]
    assert found[1].counters is None


def test_the_name_of_another_ones_files_is_not_taken() -> None:
    decisions = [LoggedDecision("r", "aggregated", 0.0, worker_id) for worker_id in (5, 7)]
    found = find_workers({}, decisions, {"worker0": None, "worker2": None})
    assert [worker.name for worker in found] == ["worker1", "worker3"]


def test_pools_are_those_of_the_choices() -> None:
    decisions = [LoggedDecision("r", "prefill", 0.0, 1), LoggedDecision("r", "decode", 0.0, 2)]
    assert [(w.worker_id, w.pool) for w in find_workers({}, decisions)] == [(1, "prefill"), (2, "decode")]
    # A worker that a peek found, and that then served the whole request, is a decode worker.
    bypassed = [*decisions, LoggedDecision("s", "peek", 0.0, 2), LoggedDecision("s", "aggregated", 0.0, 2)]
    assert [worker.pool for worker in find_workers({}, bypassed)] == ["prefill", "decode"]


def test_the_only_engine_answers_to_every_id(tmp_path: Path) -> None:
    absent = dict.fromkeys(
        ("router_log", "metrics_before_worker1_prom", "metrics_after_worker1_prom", "kv_events_worker0_jsonl")
    )
    run = load_run(copy(tmp_path / "run", **absent))
    assert run.worker(None) is run.workers[0]
    assert load_run(SMALL).worker(None) is None


def test_a_series_stands_in_for_scrapes_before_and_after(tmp_path: Path) -> None:
    rows = [
        {"t": 1.0, "target": "worker0", "text": text("metrics-before.worker0.prom")},
        {"t": 2.0, "target": "worker0", "text": text("metrics-after.worker0.prom")},
    ]
    metrics = [path.name.replace("-", "_").replace(".", "_") for path in SMALL.glob("metrics-*")]
    run = load_run(copy(tmp_path / "run", **dict.fromkeys(metrics), **{"series.jsonl": jsonl(rows)}))
    [worker] = [worker for worker in run.workers if worker.counters]
    assert worker.worker_id == WORKERS[0]
    assert worker.counters is not None
    assert worker.counters.by_source == {
        "local_compute": 40,
        "local_cache_hit": 0,
        "external_kv_transfer": 0,
    }


def test_a_single_scrape_and_a_restart_are_said(tmp_path: Path) -> None:
    swapped = {
        "metrics_before_worker0_prom": text("metrics-after.worker0.prom"),
        "metrics_after_worker0_prom": text("metrics-before.worker0.prom"),
        "metrics_before_worker1_prom": None,
    }
    assert load_run(copy(tmp_path / "run", **swapped)).notes == (
        "worker0: was restarted during the run; its counters begin again at 0",
        "worker1: one scrape only, so its counters are those since it was started",
    )


def test_what_was_scraped_before_the_run_only_is_left_out(tmp_path: Path) -> None:
    run = load_run(copy(tmp_path / "run", metrics_after_worker0_prom=None))
    assert run.windows.keys() == {"worker1"}
    assert run.notes[0].startswith("worker0: scraped before the run only")


def test_what_0_33_counts_besides_is_read() -> None:
    text = (
        "vllm:prompt_tokens_total 100\n"
        'vllm:prompt_tokens_cached_by_source_total{engine="0",source="device"} 32\n'
        'vllm:prompt_tokens_cached_by_source_total{engine="1",source="device"} 16\n'
        'vllm:prompt_tokens_cached_by_source_total{engine="0",source="host"} 64\n'
        'vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 2\n'
        'vllm:admission_rejections_total{model_name="m",reason="max_num_queued_tokens"} 1\n'
    )
    [worker] = find_workers({"worker0": Window([parse(text, "x")])}, ())
    assert worker.counters is not None
    assert worker.counters.cached_by_source == {"device": 48, "host": 64}
    assert worker.counters.admission_rejections == 3
    [older] = find_workers({"worker0": Window([parse("vllm:prompt_tokens_total 100\n", "x")])}, ())
    assert older.counters is not None
    assert (older.counters.cached_by_source, older.counters.admission_rejections) == (None, None)
