"""One measurement of the simulator: `python -m tests.bench.ours SCENARIO [KEY=VALUE ...]` prints JSON.

Measured as Dynamo's side is: in a process of its own that has imported what it needs, around everything from
the trace file to the numbers. Where both have a number it has the name that Dynamo's report gives it. With
`--repeat N` before the scenario it is a sweep over lists of values with N seeds, in as many processes as
there are cores; `--build` alone says which build it is, and of which sources.
"""

import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from sim.kv import pool
from sim.scenario.load import load_scenario
from sim.simulation.run import run


def measure(scenario: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Run a scenario and return what it cost and what came of it; memory in MiB."""
    imported_mib = peak_rss_mib()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    summary = run(load_scenario(scenario, overrides)).to_dict()
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    requests, prefill = summary["requests"], summary["prefill"]
    reused = prefill["prompt_tokens"] - prefill["by_source"]["local_compute"]
    return {
        "build": build(),
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "peak_rss_mib": peak_rss_mib(),
        "imported_rss_mib": imported_mib,
        "num_requests": requests["total"],
        "completed_requests": requests["completed"],
        "prefix_cache_reused_ratio": reused / prefill["prompt_tokens"],
        "mean_ttft_ms": in_ms(summary["ttft_s"]["mean"]),
        "mean_itl_ms": in_ms(summary["itl_s"]["mean"]),
    }


def measure_sweep(scenario: str, overrides: Sequence[str], repeat: int) -> dict[str, Any]:
    """Sweep a scenario; CPU time is that of all processes, memory that of the largest of them, in MiB."""
    # Imported here: what a single run does not need is not counted to its memory.
    from joblib.externals.loky import get_reusable_executor

    from sim.experiments.sweep import sweep

    start_s = time.perf_counter()
    runs = sweep(scenario, overrides, repeat=repeat).runs
    wall_s = time.perf_counter() - start_s
    get_reusable_executor().shutdown(wait=True)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    requests = [run.summary["requests"] for run in runs if run.summary is not None]
    return {
        "build": build(),
        "wall_s": wall_s,
        "cpu_s": sum(each.ru_utime + each.ru_stime for each in used),
        "peak_rss_mib": max(each.ru_maxrss for each in used) / 1024,
        "num_runs": len(runs),
        "num_requests": sum(each["total"] for each in requests),
        "completed_requests": sum(each["completed"] for each in requests),
    }


def build() -> str:
    """Say which build this is."""
    return "plain" if str(pool.__file__).endswith(".py") else "compiled"


def peak_rss_mib() -> float:
    """Return the most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def main(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what the arguments ask for."""
    from sim.experiments.jobs.fingerprint import code

    if arguments[0] == "--build":
        return {"build": build(), "sources": code()}
    if arguments[0] == "--repeat":
        return measure_sweep(arguments[2], arguments[3:], int(arguments[1]))
    return measure(arguments[0], arguments[1:])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
