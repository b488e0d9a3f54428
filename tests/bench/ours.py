"""One measured run of the simulator: `python -m tests.bench.ours SCENARIO [KEY=VALUE ...]` prints JSON.

Measured as Dynamo's side is: in a process of its own that has imported what it needs, around everything from
the trace file to the numbers. Where both have a number it has the name that Dynamo's report gives it.
"""

import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

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


def peak_rss_mib() -> float:
    """Return the most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2:])))
