"""From a recorded run to its numbers, by the names and definitions of a simulated run's summary.

Latencies are those of completed requests, as the client measured them (`sim.measured.formats.bench`).
Recomputation is `recomputation_by_counter` of `sim.results.prefill`: what the engines that compute prompts
counted as computed, against what the trace required.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from sim.base.words import exactly
from sim.measured.account import account
from sim.measured.formats.kv_events import EventType, KvEvents
from sim.measured.formats.prometheus import Histogram
from sim.measured.formats.router_log import LoggedDecision
from sim.measured.overlap import overlap
from sim.measured.releases import named, strangers
from sim.measured.run import MeasuredRun
from sim.measured.windows import FRONTEND
from sim.measured.workers import DURATIONS, SOURCES, MeasuredWorker
from sim.results.distribution import PERMILLES, distribution, percentile_name
from sim.results.weighted import WeightedSample

SCHEMA_VERSION = 1


def summarise(run: MeasuredRun) -> dict[str, Any]:
    """Return the numbers of a run, ready for JSON: SI units, None where nothing was measured."""
    prefill, latencies, found = _prefill(run), _latencies(run), run.releases
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {"name": file.path.name, "role": file.role.value, "target": file.target, "moment": file.moment}
            for file in run.folder.files
        ],
        "versions": named(found),
        "requests": _requests(run),
        "duration_s": run.bench.duration_s if run.bench else None,
        "max_concurrency": run.bench.max_concurrency if run.bench else None,
        **latencies,
        "thin_percentiles": list(_thin(latencies)),
        "stated": run.bench.latencies if run.bench else {},
        "prefill": prefill,
        "decode": _decode(run),
        "workers_per_session": _workers_per_session(run, decode=False),
        "decode_workers_per_session": _workers_per_session(run, decode=True),
        "router": {stage: _decisions(found) for stage, found in _by_stage(run.decisions).items()},
        "overlap": asdict(overlap(run)),
        "queue": _queues(run.workers),
        "preemptions": _total(worker.counters.preemptions for worker in run.workers if worker.counters),
        "workers": [_worker(run, worker) for worker in run.workers],
        "notes": [
            *run.notes,
            *strangers(found),
            *_counted_otherwise(prefill),
            *(run.trace.notes if run.trace else ()),
        ],
    }


def _counted_otherwise(prefill: Mapping[str, Any]) -> Iterable[str]:
    """Say so where the engines' counters cover other prompts than the client's."""
    counted, sent = prefill["prompt_tokens"], prefill["sent_prompt_tokens"]
    if counted is not None and sent is not None and counted != sent:
        yield (
            f"the engines counted {exactly(counted, 'prompt token')}, the completed requests have "
            f"{sent:,}: others "
            "were served too, or some failed after they were computed"
        )


def _requests(run: MeasuredRun) -> dict[str, int]:
    if run.bench:
        completed, failed = run.bench.completed, run.bench.failed
    else:
        completed = sum(request.completed for request in run.requests)
        failed = len(run.requests) - completed
    sessions = {request.session for request in run.requests if request.session is not None}
    return {
        "total": completed + failed,
        "completed": completed,
        "failed": failed,
        "sessions": len(sessions),
    }


def _latencies(run: MeasuredRun) -> dict[str, dict[str, float | int | None]]:
    """Return the distributions of what the client measured; empty ones without details."""
    samples = {name: WeightedSample() for name in ("ttft_s", "itl_s", "tpot_s", "e2e_s", "client_wait_s")}
    for request in run.requests:
        bench = request.bench
        if bench is None or not bench.completed:
            continue
        samples["ttft_s"].add(bench.ttft_s)
        samples["itl_s"].add_many(bench.itl_s)
        samples["e2e_s"].add(bench.e2e_s)
        if bench.output_tokens > 1:
            samples["tpot_s"].add((bench.e2e_s - bench.ttft_s) / (bench.output_tokens - 1))
        if request.trace and request.trace.timestamp_s is not None and request.send_s is not None:
            # Both clocks are differences of large numbers: below a nanosecond there is only rounding.
            samples["client_wait_s"].add(round(request.send_s - request.trace.timestamp_s, 9))
    return {name: distribution(sample) for name, sample in samples.items()}


def _thin(latencies: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Name the percentiles with fewer than ten samples expected beyond them."""
    for name, numbers in latencies.items():
        for permille in PERMILLES:
            if 0 < numbers["n"] * (1000 - permille) < 10_000:
                yield f"{name}.{percentile_name(permille)}"


def _prefill(run: MeasuredRun) -> dict[str, Any]:
    """Return what became of the prompts, in the pool that computes them."""
    by_source = _by_source(worker for worker in run.workers if worker.pool != "decode")
    computed = by_source["local_compute"] if by_source else None
    found = account(run)
    required = found.required_tokens if found else None
    in_blocks = found.required_block_tokens if found else None
    frontend = run.windows.get(FRONTEND)
    cached = frontend.increase("dynamo_frontend_cached_tokens_sum") if frontend else None
    return {
        "prompt_tokens": sum(by_source.values()) if by_source else None,
        "sent_prompt_tokens": _total(r.prompt_tokens for r in run.requests if r.completed),
        "by_source": by_source,
        "cached_tokens_of_frontend": None if cached is None else round(cached),
        "required_tokens": required,
        "required_block_tokens": in_blocks,
        "recomputed_tokens": _difference(computed, required),
        "recomputed_block_tokens": _difference(computed, in_blocks),
        "elsewhere_tokens": found.elsewhere_tokens if found else None,
        "recomputation_by_counter": _ratio(_difference(computed, required), required),
    }


def _decode(run: MeasuredRun) -> dict[str, Any] | None:
    by_source = _by_source(worker for worker in run.workers if worker.pool == "decode")
    return {"prompt_tokens": sum(by_source.values()), "by_source": by_source} if by_source else None


def _by_source(workers: Iterable[MeasuredWorker]) -> dict[str, int] | None:
    counted = [worker.counters.by_source for worker in workers if worker.counters]
    known = [counts for counts in counted if counts is not None]
    return {source: sum(counts[source] for counts in known) for source in SOURCES} if known else None


def _workers_per_session(run: MeasuredRun, *, decode: bool) -> dict[str, Any] | None:
    """Count the workers that a session's requests went to; None where sessions or workers are not known."""
    names: dict[str, set[str]] = {}
    for request in run.requests:
        if decode and request.decode is None:
            continue
        worker = run.worker(request.decode_worker_id if decode else request.prefill_worker_id)
        if worker and request.session is not None:
            names.setdefault(request.session, set()).add(worker.name)
    counts = {session: len(found) for session, found in sorted(names.items())}
    if not counts:
        return None
    return {
        "mean": sum(counts.values()) / len(counts),
        "min": min(counts.values()),
        "max": max(counts.values()),
        "by_session": counts,
    }


def _by_stage(decisions: Iterable[LoggedDecision]) -> dict[str, list[LoggedDecision]]:
    found: dict[str, list[LoggedDecision]] = {}
    for decision in decisions:
        found.setdefault(decision.stage, []).append(decision)
    return found


def _decisions(decisions: list[LoggedDecision]) -> dict[str, int]:
    """Count choices, those with logged costs, ties for the least of them, and whether the least was taken."""
    costed = [decision for decision in decisions if decision.candidates]
    return {
        "decisions": len(decisions),
        "with_costs": len(costed),
        "ties": sum(len(decision.cheapest) > 1 for decision in costed),
        "cheapest_taken": sum(decision.chosen in decision.cheapest for decision in costed),
        "failed": sum(decision.failed for decision in decisions),
    }


def _worker(run: MeasuredRun, worker: MeasuredWorker) -> dict[str, Any]:
    ids = [r.decode_worker_id if worker.pool == "decode" else r.prefill_worker_id for r in run.requests]
    requests = sum(run.worker(worker_id) is worker for worker_id in ids if worker_id is not None)
    counters: dict[str, Any] = asdict(worker.counters) if worker.counters else {}
    for name in DURATIONS:
        counters.pop(name, None)
    return {
        "name": worker.name,
        # JSON readers that take numbers for doubles would change it.
        "id": None if worker.worker_id is None else str(worker.worker_id),
        "pool": worker.pool,
        "routed_requests": requests if any(worker_id is not None for worker_id in ids) else None,
        "block_tokens": worker.block_tokens,
        "kv_blocks": worker.kv_blocks,
        "counters": counters or None,
        "kv_events": _kv_events(run.kv_events.get(worker.name)),
    }


def _queues(workers: Iterable[MeasuredWorker]) -> dict[str, dict[str, Any]]:
    """Return by pool how long requests queued: n, mean, and the bucket ends between which percentiles lie."""
    found: dict[str, Histogram] = {}
    for worker in workers:
        queue_s = worker.counters.queue_s if worker.counters else None
        if queue_s:
            found[worker.pool] = found[worker.pool] + queue_s if worker.pool in found else queue_s
    return {
        pool: {
            "n": round(queue_s.count),
            "mean_s": queue_s.mean,
            **{f"p{percent}_between_s": _ends(queue_s, percent / 100) for percent in (50, 99)},
        }
        for pool, queue_s in found.items()
    }


def _ends(histogram: Histogram, share: float) -> list[float | None] | None:
    """Return the ends of a quantile's bucket; the last bucket has none above."""
    ends = histogram.bucket(share)
    return None if ends is None else [ends[0], ends[1] if isfinite(ends[1]) else None]


def _kv_events(recorded: KvEvents | None) -> dict[str, Any] | None:
    """Count blocks by event and tier."""
    if recorded is None:
        return None
    stored: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for event in recorded.events:
        if event.type is not EventType.CLEARED:
            counts = stored if event.type is EventType.STORED else removed
            counts[event.medium or "GPU"] += len(event.block_hashes)
    placeholders = [e for e in recorded.events if e.type is EventType.STORED and not e.block_tokens]
    return {
        "batches": recorded.n_batches,
        "missing_batches": recorded.missing_batches,
        "placeholder_blocks": sum(len(event.block_hashes) for event in placeholders),
        "stored_blocks": dict(sorted(stored.items())),
        "removed_blocks": dict(sorted(removed.items())),
        "cleared": sum(event.type is EventType.CLEARED for event in recorded.events),
    }


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _difference(computed: int | None, required: int | None) -> int | None:
    """Return what was computed beyond what was required; None where less was: other prompts were counted."""
    if computed is None or required is None or computed < required:
        return None
    return computed - required


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
