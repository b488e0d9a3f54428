"""Makes `data/regions.csv`, which when_kv_routing_helps.ipynb reads: two routers over load and reuse.

Prompts of 8,000 tokens, of which 7,500 are one of so many prefixes; four workers. A row is a run.
"""

import csv
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from sim import run
from sim.base.progress import count_bar

FOLDER = Path(__file__).parent
SCENARIO = FOLDER / "regions.toml"
GROUPS = (1, 8, 64, 512)
RATES = (4, 8, 12, 16, 24, 32)
"""Requests a second, of the whole cluster."""
POLICIES = ("round-robin", "kv")
REQUESTS = 400
COLUMNS = ("groups", "rate", "policy", "seed", "hit", "ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "e2e_p50_s")


def settings(groups: int, rate: int, policy: str, seed: int) -> dict[str, object]:
    """Return what a run sets in the scenario."""
    return {
        "workload.synthetic.groups": groups,
        "workload.synthetic.stages": [{"rate_per_s": rate, "duration_s": REQUESTS / rate}],
        "router.policy": policy,
        "seed": seed,
    }


def numbers(groups: int, rate: int, policy: str, seed: int) -> list[float]:
    """Return the share of prompts that is hit and the latencies of a run."""
    found = run(SCENARIO, settings(groups, rate, policy, seed)).numbers
    hit = (found["prefill.by_source.local_cache_hit"] or 0) / (found["prefill.prompt_tokens"] or 1)
    latencies = [found[name] or 0.0 for name in ("ttft_s.mean", "ttft_s.p50", "ttft_s.p90", "e2e_s.p50")]
    return [round(value, 4) for value in (hit, *latencies)]


def regions(seeds: int) -> list[Sequence[object]]:
    """Return a row for each run."""
    places = [
        (groups, rate, policy, seed)
        for seed in range(seeds)
        for groups in GROUPS
        for rate in RATES
        for policy in POLICIES
    ]
    rows: list[Sequence[object]] = []
    with count_bar("regions", len(places)) as on_one_more:
        for place in places:
            rows.append([*place, *numbers(*place)])
            on_one_more()
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args(arguments)
    with (FOLDER / "data" / "regions.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *regions(asked.seeds)])


if __name__ == "__main__":
    main(sys.argv[1:])
