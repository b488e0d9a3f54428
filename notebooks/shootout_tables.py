"""Makes the tables in `data/` that router_shootout.ipynb reads: part of `make tables`, 4 CPU minutes.

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
CONVERSATION = Path(__file__).parents[2] / "shared/traces/mooncake/conversation_trace.jsonl"
"""Of Mooncake's FAST '25 traces (Apache-2.0), which is no part of this repository."""

METRICS = {
    "ttft_s.p50": 4,
    "ttft_s.p95": 4,
    "prefill.recomputation": 4,
    "workers_per_session.mean": 4,
    "throughput.requests_per_s": 4,
    "requests.rejected": 0,
    "router.regret_share": 4,
}
"""The numbers that are kept, and to how many decimals."""
COLUMNS = ["sessions", "turns", "policy", "seed", *METRICS, "fingerprint"]
POLICIES = ["kv", "session-sticky", "round-robin", "sglang-cache-aware", "llm-d", "oracle"]

WORKLOADS: dict[str, tuple[str, str, list[object], dict[str, object]]] = {
    "talk": ("agg8", "workload.sessions", [8, 12, 16], {"workload.turns": 3}),
    "kct, answers returned": (
        "router-shootout",
        "workload.sessions",
        [20, 36, 52],
        {"workload.turns": 4, "replay.answers": "returned"},
    ),
    "conversation": (
        "router-shootout",
        "replay.speedup",
        [1, 2, 3],
        {
            "workload.profile": "none",
            "workload.path": str(CONVERSATION),
            "workload.sessions": 300,
            "replay.client": "open-loop",
        },
    ),
}
"""The scenario, what makes its load, three loads, and what else is set."""

TELLS: dict[str, dict[str, object]] = {
    "at once": {},
    "events 1 s late": {"frontend.event_delay_s": 1},
    "events 10 s late": {"frontend.event_delay_s": 10},
    "two front ends": {"frontend.replicas": 2},
    "two, synchronised": {"frontend.replicas": 2, "router.replica_sync": True},
}
"""What a router knows of workers and of other routers; each on the kct workload at its middle load."""


def ran(scenario: str, overrides: Mapping[str, object], seeds: int, runs: Path, named: str) -> pd.DataFrame:
    """Return a row for each run: its settings as they are written, seed and numbers, and what decides it."""
    made = plan(scenario, as_texts({"output.regret": True, **overrides}, points=True), seeds)
    with count_bar(named, len(made.jobs)) as on_one_more:
        found = execute_plan(made, local(None), lambda _: on_one_more(), runs)
    if found.failed:
        raise InputError("\n".join(found.failures()))
    written = {key: [job.written[key] for job in made.jobs] for key in found.keys}
    fingerprints = [fingerprint(job.scenario) for job in made.jobs]
    workloads = [job.scenario.workload for job in made.jobs]
    sizes = {"sessions": [w.sessions for w in workloads], "turns": [w.turns for w in workloads]}
    return found.frame.assign(**written, **sizes, fingerprint=fingerprints).round(METRICS)


def routers(seeds: int, runs: Path, loads: int) -> pd.DataFrame:
    """Return the runs of every policy under every load; of a trace that is not there, none."""
    parts = []
    for name, (scenario, key, values, changes) in WORKLOADS.items():
        if not Path(str(changes.get("workload.path", "/"))).exists():
            print(f"{name}: no {changes['workload.path']}, left out", file=sys.stderr)
            continue
        some = {key: values[:loads], "router.policy": POLICIES} | changes
        part = ran(scenario, some if loads > 1 else some | {key: values[0]}, seeds, runs, name)
        load = part[key] if loads > 1 else str(values[0])
        parts.append(part.assign(workload=name, load=load, policy=part["router.policy"]))
    return pd.concat(parts)[["workload", "load", *COLUMNS]]


def tells(seeds: int, runs: Path, loads: int) -> pd.DataFrame:
    """Return the runs of the KV router, and of one that needs to know nothing, by what routers are told."""
    scenario, key, values, changes = WORKLOADS["kct, answers returned"]
    parts = []
    for name, told in TELLS.items():
        some = {key: values[min(1, loads - 1)], "router.policy": ["kv", "session-sticky"]} | changes | told
        part = ran(scenario, some, seeds, runs, name)
        parts.append(part.assign(told=name, policy=part["router.policy"]))
    return pd.concat(parts)[["told", *COLUMNS]]


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--loads", type=int, default=3, help="fewer to try it: the first ones")
    parser.add_argument("--runs", type=Path, default=Path("out/tables"), help="keeps every run")
    parser.add_argument("--data", type=Path, default=DATA, help="where the tables go")
    asked = parser.parse_args(arguments)
    for table in (routers, tells):
        made = table(asked.seeds, asked.runs, asked.loads)
        made.to_csv(asked.data / f"{table.__name__}.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
