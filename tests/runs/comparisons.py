"""Comparisons made by hand: no simulator needed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sim.runs.comparison import Comparison
from sim.runs.run import Run


def made(
    scenario: str,
    ttft_s: float | None,
    seed: int = 0,
    *,
    workload: Mapping[str, Any] | None = None,
    written: Mapping[str, str] | None = None,
    thin: bool = False,
    **more: Any,
) -> Run:
    """A run whose summary has four numbers; all but the latency follow from it."""
    summary = None
    if ttft_s is not None:
        summary = {
            "ttft_s": {"p50": ttft_s},
            "thin_percentiles": ["ttft_s.p50"] if thin else [],
            "prefill": {"recomputation": ttft_s / 10, "by_cause": {"elsewhere": round(1000 * ttft_s)}},
            "requests": {"completed": 240},
        }
    settings = {"title": f"The {scenario} one", "seed": 0, "workload": dict(workload or {})}
    return Run(scenario, settings, dict(written or {}), seed, summary, **more)


def swept(scenario: str, values: Mapping[int, list[float]]) -> list[Run]:
    """Runs over workload.sessions: a latency for each seed."""
    return [
        made(scenario, ttft_s, seed, workload={"sessions": n}, written={"workload.sessions": str(n)})
        for n, latencies in values.items()
        for seed, ttft_s in enumerate(latencies)
    ]


def drawn() -> Comparison:
    """Two scenarios with 41 draws: latencies from 1 to 5 s, and twice that."""
    runs = [
        made(name, factor * (1 + k / 10), draw=k + 1)
        for name, factor in (("fast", 1.0), ("slow", 2.0))
        for k in range(41)
    ]
    return Comparison(["fast", "slow"], runs)


def two_points() -> Comparison:
    """Two scenarios at two points with three seeds."""
    fast = swept("fast", {12: [1.0, 2.0, 3.0], 20: [2.0, 2.0, 2.0]})
    slow = swept("slow", {12: [2.0, 4.0, 6.0], 20: [2.5, 3.5, 3.0]})
    return Comparison(["fast", "slow"], [*fast, *slow])


def routed(policy: str, ttft_s: float, seed: int = 0, *, name: str = "", **more: Any) -> Run:
    """A run under a policy, called by its name unless another is given."""
    run = made(name or policy, ttft_s, seed, **more)
    return replace(run, settings={**run.settings, "router": {"policy": policy}})
