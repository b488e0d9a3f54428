"""Makes the tables in `data/` that sweep_router_weights.ipynb reads: `make tables`, an hour of CPU time.

Every run is kept in a folder as it ends, so that a second call goes on where the first one was stopped.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from sim.base.errors import InputError
from sim.base.progress import count_bar
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.fingerprint import fingerprint
from sim.experiments.sweep import execute_plan, plan
from sim.scenario.overrides import as_texts

DATA = Path(__file__).parent / "data"

METRICS = {
    "prefill.recomputation": 4,
    "workers_per_session.mean": 4,
    "ttft_s.p50": 4,
    "ttft_s.p95": 4,
    "itl_s.p99": 5,
    "e2e_s.p50": 4,
    "throughput.output_tokens_per_s": 2,
}
"""The numbers that are kept, and to how many decimals."""

CREDIT = "router.overlap_score_credit"
LEVERS: dict[str, list[object]] = {
    CREDIT: [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2],
    "router.prefill_load_scale": [0.5, 1, 2, 4, 8, 16],
    "router.overlap_score_credit_decay": [0, 0.25, 0.5, 1, 2],
    "router.decode_active_request_weight": [0, 16, 64, 256, 1024],
    "offload.kv_events": ["placeholder", "self-describing"],
    "engine.async_scheduling": [True, False],
    "engine.max_num_batched_tokens": [2048, 4096, 8192, 16384],
    "offload.cpu_bytes": ["16GiB", "32GiB", "64GiB", "128GiB", "256GiB"],
}
"""Moved one at a time; the default of `agg8` is among the values."""

SETTINGS: dict[str, dict[str, object]] = {
    "default": {},
    "prefill scale 4": {"router.prefill_load_scale": 4},
    "prefill scale 8": {"router.prefill_load_scale": 8},
    "prefill scale 8, self-describing events": {
        "router.prefill_load_scale": 8,
        "offload.kv_events": "self-describing",
    },
    "(2, 4, 64)": {
        "router.overlap_score_credit": 2,
        "router.prefill_load_scale": 4,
        "router.decode_active_request_weight": 64,
    },
    "session-sticky": {"router.policy": "session-sticky"},
    "round robin": {"router.policy": "round-robin"},
}
"""Several keys at once."""

WORKLOADS: dict[str, dict[str, object]] = {
    "talk": {"workload.sessions": [12, 20, 28]},
    "closed loop": {
        "workload.sessions": [16],
        "workload.profile": "kct",
        "replay.client": "turn-dependent",
    },
}
"""The sessions of `agg8`; and shorter, public ones whose users wait for each answer."""


def swept(overrides: Mapping[str, object], seeds: int, runs: Path) -> pd.DataFrame:
    """Return a row for each run of `agg8`: its sessions and seed, the numbers, and what decides them."""
    made = plan("agg8", as_texts(overrides, points=True), seeds)
    with count_bar(", ".join(overrides), len(made.jobs)) as on_one_more:
        found = execute_plan(made, local(None), lambda _: on_one_more(), runs)
    if found.failed:
        raise InputError("\n".join(found.failures()))
    written = {key: [job.written[key] for job in made.jobs] for key in found.keys}
    frame = found.frame.assign(
        **written,
        sessions=[job.scenario.workload.sessions for job in made.jobs],
        fingerprint=[fingerprint(job.scenario) for job in made.jobs],
    )
    return frame.round(METRICS)


def levers(seeds: int, runs: Path) -> pd.DataFrame:
    """Return the runs in which one key was moved."""
    parts = []
    for key, values in LEVERS.items():
        sessions = [12, 20, 28] if key == CREDIT else [12, 28]
        part = swept({key: values, "workload.sessions": sessions}, seeds, runs)
        parts.append(part.assign(key=key, value=part[key]))
    return pd.concat(parts)[["key", "value", "sessions", "seed", *METRICS, "fingerprint"]]


def settings(seeds: int, runs: Path) -> pd.DataFrame:
    """Return the runs of several keys at once, on each workload."""
    parts = [
        swept(changes | workload, seeds, runs).assign(workload=workload_name, setting=name)
        for workload_name, workload in WORKLOADS.items()
        for name, changes in SETTINGS.items()
    ]
    return pd.concat(parts)[["workload", "setting", "sessions", "seed", *METRICS, "fingerprint"]]


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=Path, default=Path("out/tables"), help="keeps every run")
    asked = parser.parse_args(arguments)
    for table in (settings, levers):
        table(asked.seeds, asked.runs).to_csv(DATA / f"{table.__name__}.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
