"""The numbers that are compared: from a measured run's files, and from a replay of it.

Sums are over completed requests; what failed ones had computed is in the engines' counters all the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.measured.run import MeasuredRun
from sim.validation.replay.replay import Replay

Numbers = Mapping[str, float | None]
"""By the names of `LABELS`; None where there is nothing to count, or no file says."""

LABELS = {
    "computed_tokens": "Prompt tokens computed",
    "recomputed_tokens": "  of them recomputed",
    "local_hit_tokens": "Tokens from GPU memory",
    "host_hit_tokens": "Tokens from the CPU tier",
    "router_tokens": "Tokens the router credited",
    "router_host_blocks": "Host blocks the router saw",
    "decode_hit_tokens": "Tokens decode workers had",
    "pulled_blocks": "Blocks pulled",
    "workers_per_session": "Workers a session",
    "decode_workers_per_session": "Decode workers a session",
}


@dataclass(frozen=True, slots=True)
class Error:
    """How a prediction differs from what was measured."""

    difference: float
    relative: float | None
    """Of what was measured; None where that is 0."""


def error(measured: float | None, predicted: float | None) -> Error | None:
    """Return the signed error of a prediction, None where either is not known."""
    if measured is None or predicted is None:
        return None
    difference = predicted - measured
    return Error(difference, difference / measured if measured else None)


def measured_numbers(run: MeasuredRun, summary: Mapping[str, Any], block_bytes: int) -> Numbers:
    """Return what the files of the run say; `summary`: of `summarise`."""
    prefill, decode, overlap = summary["prefill"], summary["decode"], summary["overlap"]
    by_source: Mapping[str, int] = prefill["by_source"] or {}
    pulled = [
        worker.counters.pulled_bytes for worker in run.workers if worker.counters and worker.pool == "decode"
    ]
    return {
        "computed_tokens": by_source.get("local_compute"),
        "recomputed_tokens": prefill["recomputed_tokens"],
        "local_hit_tokens": by_source.get("local_cache_hit"),
        "host_hit_tokens": by_source.get("external_kv_transfer"),
        "router_tokens": overlap["credited_tokens"] if overlap["requests"] else None,
        "router_host_blocks": overlap["host_blocks"] if overlap["requests"] else None,
        "decode_hit_tokens": decode["by_source"]["local_cache_hit"] if decode else None,
        "pulled_blocks": sum(n or 0 for n in pulled) / block_bytes if pulled else None,
        "workers_per_session": _mean(summary["workers_per_session"]),
        "decode_workers_per_session": _mean(summary["decode_workers_per_session"]),
    }


def _mean(counts: Mapping[str, Any] | None) -> float | None:
    return counts["mean"] if counts else None


def predicted_numbers(replayed: Replay) -> Numbers:
    """Return what the replay gave, for the same requests."""
    recording, scenario = replayed.recording, replayed.scenario
    rows = replayed.requests
    counted = {index for index in recording.completed if rows[index]["counted_prompt_tokens"] is not None}
    done = [rows[index] for index in sorted(counted)]
    local, host = _total(done, "local_hit_tokens"), _total(done, "external_hit_tokens")
    computed = _total(done, "counted_prompt_tokens") - local - host
    numbers: dict[str, float | None] = {
        "computed_tokens": computed,
        "recomputed_tokens": computed - _required(replayed, rows, counted),
        "local_hit_tokens": local,
        "host_hit_tokens": host,
        "router_tokens": _total(rows, "credit_tokens"),
        "router_host_blocks": _host_blocks(replayed),
        "decode_hit_tokens": None,
        "pulled_blocks": None,
        "workers_per_session": _per_session(rows, "worker"),
        "decode_workers_per_session": None,
    }
    if scenario.workers.decode:
        pulled = [(row["pulled_bytes"] or 0) // replayed.block_bytes for row in done]
        needed = [-(-row["prompt_tokens"] // scenario.block_tokens) for row in done]
        numbers["pulled_blocks"] = sum(pulled)
        numbers["decode_hit_tokens"] = (sum(needed) - sum(pulled)) * scenario.block_tokens
        numbers["decode_workers_per_session"] = _per_session(rows, "decode_worker")
    return numbers


def _required(replayed: Replay, rows: Sequence[Mapping[str, Any]], counted: Collection[int]) -> int:
    """Return what the counted requests had to compute: of fewer than all, what nobody had computed before."""
    recording = replayed.recording
    if len(counted) == len(rows):
        return recording.required_tokens
    scheduled = [row for row in rows if row["first_scheduled_s"] is not None]
    in_order = sorted(scheduled, key=lambda row: (row["first_scheduled_s"], row["index"]))
    return recording.required_of(counted, [row["index"] for row in in_order], replayed.scenario.block_tokens)


def _total(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _host_blocks(replayed: Replay) -> int | None:
    table = replayed.rows.tables.get("decisions")
    if table is None:
        return None
    chosen = zip(table.column("chosen"), table.column("leg"), table.column("host_blocks"), strict=True)
    blocks = [n for taken, stage, n in chosen if taken and stage != "decode"]
    return int(sum(blocks))


def _per_session(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    workers: dict[str, set[int]] = {}
    for row in rows:
        if row[name] is not None:
            workers.setdefault(row["session"], set()).add(row[name])
    return sum(map(len, workers.values())) / len(workers) if workers else None
