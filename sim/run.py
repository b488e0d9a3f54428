"""Runs a scenario: from settings to rows and numbers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim.cluster import Cluster, Progress
from sim.coefficients import Coefficients
from sim.results.gauge import occupancy
from sim.results.metrics import RunFacts, summarise, to_json
from sim.results.rows import Rows
from sim.results.weighted import WeightedSample
from sim.router import Policy
from sim.scenario import Scenario
from sim.worker.timing import StepTime
from sim.workload.load import load_workload
from sim.workload.request import Trace


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run gave."""

    scenario: Scenario
    summary: dict[str, Any]
    """The JSON summary: see `sim.results.metrics`."""
    rows: Rows
    """The tables: see `sim.results.tables`."""
    itl_s: WeightedSample
    """Every gap between two tokens of one request."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know beside the numbers, a sentence each."""

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.scenario.title

    def save(self, directory: Path) -> None:
        """Write summary.json, the tables as Parquet, and the resolved scenario into an existing folder."""
        self.rows.write(directory)
        (directory / "summary.json").write_text(to_json(self.summary), encoding="utf-8")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")


def run(
    scenario: Scenario,
    *,
    trace: Trace | None = None,
    policy: Policy | None = None,
    step_time: StepTime | None = None,
    on_progress: Progress | None = None,
) -> RunResult:
    """Run a scenario to its end.

    Args:
        scenario: the settings; equal settings give equal results, to the last bit.
        trace: what is sent, in place of the scenario's workload.
        policy: a routing policy of your own, in place of the one that the scenario names.
        step_time: a step-time law of your own, in place of the scenario's.
        on_progress: called whenever a request has ended.

    Raises:
        InputError: the trace cannot be read, or the pool has no room.

    """
    capacity = scenario.capacity()
    times = scenario.coefficients()
    if trace is None:
        trace = load_workload(scenario.workload, scenario.seed, Path())
    cluster = Cluster(scenario, trace, capacity, times, policy=policy, step_time=step_time)
    cluster.run(on_progress)
    notes = _notes(trace, times, scenario.timing.draw, own_law=step_time is not None)
    return RunResult(
        scenario,
        summary_of(cluster) | {"notes": notes},
        cluster.recorder.rows,
        cluster.recorder.itl_s,
        notes,
    )


def summary_of(cluster: Cluster) -> dict[str, Any]:
    """Return the numbers of a cluster that has run: see `sim.results.metrics`."""
    recorder, capacity, scenario = cluster.recorder, cluster.capacity, cluster.scenario
    end_s = recorder.last_end_s
    prefill = scenario.workers.prefill or scenario.workers.gpus
    pool = occupancy(recorder.pool[:prefill], capacity.num_blocks - 1, end_s)
    cpu_tier = None
    if scenario.offload:
        cpu_tier = occupancy(recorder.cpu_tier[:prefill], capacity.host[0].blocks, end_s)
    decode_pool = pulls = None
    if scenario.workers.decode:
        blocks = scenario.disaggregation.decode_kv_blocks or capacity.num_blocks
        decode_pool = occupancy(recorder.pool[prefill:], blocks - 1, end_s)
        pulls = recorder.pulls
    facts = RunFacts(
        end_s,
        scenario.workers.gpus,
        pool=pool,
        cpu_tier=cpu_tier,
        decode_pool=decode_pool,
        pulls=pulls,
        slo=scenario.slo,
    )
    return summarise(recorder.rows.tables["requests"], recorder.itl_s, facts)


def _notes(trace: Trace, times: Coefficients, draw: int, *, own_law: bool) -> list[str]:
    law = "step times: a law passed by the caller"
    if not own_law:
        law = f"step times ({times.origin}): {times.summary}"
    drawn = [f"coefficients and links: draw {draw} over their ranges"] if draw else []
    return [law, *drawn, *trace.notes]
