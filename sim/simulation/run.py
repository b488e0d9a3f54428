"""Runs a scenario: from settings to rows and numbers."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.base.shipped import short_name
from sim.cluster.build import Cluster, Progress
from sim.cluster.checks.switch import watch_wanted
from sim.cluster.garbage import rare_collections
from sim.cluster.tiers import HOST
from sim.engine.engine import Engine
from sim.hardware.step_time import StepTime
from sim.results.gauge import Gauge, Occupancy, occupancy
from sim.results.metrics import summarise
from sim.results.phases import counted
from sim.results.rows import Rows
from sim.results.run_facts import RunFacts
from sim.results.time_spent import time_spent
from sim.results.within import Within, within
from sim.router import Policy
from sim.scenario.load import load_scenario
from sim.scenario.overrides import Overrides
from sim.scenario.scenario import Scenario
from sim.scenario.sections import OutputSettings
from sim.simulation.notes import notes_of
from sim.simulation.result import RunResult
from sim.simulation.startup import check_startup
from sim.simulation.versions import versions_of
from sim.workload.load import load_workload
from sim.workload.request import Trace


def run(
    source: str | Path | Scenario,
    overrides: Overrides = (),
    *,
    policy: Policy | None = None,
    step_time: StepTime | None = None,
    trace: Trace | Callable[[Scenario], Trace] | None = None,
    on_progress: Progress | None = None,
    check: bool | None = None,
) -> RunResult:
    """Run a scenario to its end; equal settings give equal results, to the last bit.

    Args:
        source: the name of a shipped scenario, a TOML file, or a scenario that was loaded.
        overrides: what to change in it: `["workload.sessions=28"]` or `{"workload.sessions": 28}`.
        policy: a routing policy of your own, in place of the one that the scenario names: a callable
            `(terms, query, draw) -> rank`, see `sim.router.policies`. It chooses for the first stage.
        step_time: a step-time law of your own, in place of the scenario's: see `sim.hardware.step_time`.
        trace: what is sent, in place of the scenario's workload, or what makes it of the scenario.
        on_progress: called whenever a request has ended, with simulated seconds, requests that ended, and
            requests in all.
        check: whether to check, while it runs, what must hold in every simulation: see `sim.cluster.checks`.
            It takes less than twice as long and changes no result. None: if the environment variable
            SIM_CHECK is set.

    Raises:
        InputError: the scenario, an override or the trace cannot be used, or vLLM would not start for want of
            KV memory.
        InvariantError: a check found a fault of the simulator.

    """
    scenario = load_scenario(source, overrides)
    if policy is not None and not callable(policy):
        raise InputError(f"policy {policy!r}: give a callable (terms, query, draw) -> rank")
    capacity = scenario.capacity()
    startup = check_startup(scenario, capacity)
    times = scenario.coefficients()
    with rare_collections():
        if trace is None:
            trace = load_workload(scenario.workload, scenario.seed, Path())
        elif callable(trace):
            trace = trace(scenario)
        cluster = Cluster(
            scenario,
            trace,
            capacity,
            times,
            policy=policy,
            step_time=step_time,
            watch=watch_wanted(check),
        )
        cluster.run(on_progress)
    own_law, own_policy = step_time is not None, policy is not None
    notes = notes_of(cluster, trace, times, startup, own_law=own_law, own_policy=own_policy)
    name = scenario.title if isinstance(source, Scenario) else short_name(source)
    return RunResult(
        name,
        scenario,
        summary_of(cluster)
        | _asked_for(scenario.output, cluster.recorder.rows)
        | {"requests_in_file": trace.in_file, "versions": versions_of(scenario), "notes": notes},
        cluster.recorder.rows,
    )


def _asked_for(output: OutputSettings, rows: Rows) -> dict[str, Any]:
    """Return the numbers that a summary has only where the scenario asks for them."""
    requests = counted(rows.tables["requests"])
    found: dict[str, Any] = {}
    if output.within is not None:
        found["within"] = within(requests, [Within.read(text, "output.within") for text in output.within])
    if output.time_spent:
        found["time_spent"] = time_spent(requests, rows.tables["links"])
    return found


def summary_of(cluster: Cluster) -> dict[str, Any]:
    """Return the numbers of a cluster that has run: see `sim.results.metrics`."""
    recorder, capacity, scenario = cluster.recorder, cluster.capacity, cluster.scenario
    end_s = recorder.last_end_s
    seen_from_s, seen_until_s = cluster.replay.seen(end_s)
    prefill = scenario.workers.first.ranks

    def full(gauges: Iterable[Gauge], blocks: int) -> Occupancy:
        return occupancy(gauges, blocks, seen_until_s, seen_from_s)

    pool = full(recorder.pool[:prefill], capacity.num_blocks - 1)
    tiers = {tier.name: full(recorder.tiers[tier.name][:prefill], tier.blocks) for tier in cluster.tiers}
    decode_pool = pulls = None
    if scenario.workers.decode:
        decode_pool = full(recorder.pool[prefill:], cluster.decode_capacity.num_blocks - 1)
        pulls = recorder.pulls
    if cluster.returns is not None:
        filled, blocks = recorder.tiers[HOST][prefill:], cluster.decode_capacity.host[0].blocks
        tiers["decode_cpu"] = occupancy(filled, blocks, end_s)
    facts = RunFacts(
        end_s,
        scenario.workers.gpus,
        pool=pool,
        cpu_tier=tiers.pop(HOST, None),
        block_tokens=capacity.block_tokens,
        lower_tiers=tiers,
        decode_pool=decode_pool,
        pulls=pulls,
        kv_returned=cluster.returns.summary() if cluster.returns is not None else None,
        drafts=_drafts(cluster),
        regret=recorder.regrets.summary() if recorder.regrets is not None else None,
        slo=scenario.slo,
        most_tokens=_most_tokens(cluster),
        faults=_tolls(cluster) if cluster.can_break else None,
        window=cluster.replay.window(end_s) if cluster.replay.leaves_out else None,
        begun_s=cluster.replay.left_out.begun_s,
        resent=recorder.resent if scenario.replay.retries else None,
    )
    return summarise(recorder.rows.tables["requests"], recorder.itl_s, facts)


def _tolls(cluster: Cluster) -> list[dict[str, Any]]:
    end_s = cluster.recorder.last_end_s - cluster.scene.begun_s
    return [toll.summary(end_s) for toll in cluster.scene.tolls]


def _drafts(cluster: Cluster) -> dict[str, int] | None:
    """Return the counters of speculative decoding over all workers; None without it."""
    if cluster.scenario.engine.speculative is None:
        return None
    counts = [worker.engine.draft_counts for worker in cluster.workers]
    return {
        "drafts": sum(count.drafts for count in counts),
        "draft_tokens": sum(count.draft_tokens for count in counts),
        "accepted_tokens": sum(count.accepted_tokens for count in counts),
    }


def _most_tokens(cluster: Cluster) -> dict[str, int]:
    """Return how long a prompt may be, by the reason for which longer ones are refused (`Engine.fits`)."""
    first, last = cluster.workers[0].engine, cluster.workers[-1].engine
    limit = cluster.scenario.max_model_len
    return {
        "exceeds_max_model_len": limit,
        "prompt_exceeds_pool": _longest_that_fits(first, limit),
        "prompt_exceeds_decode_pool": _longest_that_fits(last, limit),
    }


def _longest_that_fits(engine: Engine, limit: int) -> int:
    return bisect_left(range(1, limit + 1), x=True, key=lambda tokens: not engine.fits(tokens))
