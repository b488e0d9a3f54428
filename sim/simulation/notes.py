"""What a reader must know of a run beside its numbers, a sentence each."""

from collections.abc import Iterable

from sim.base.words import exactly, plural
from sim.cluster.build import Cluster
from sim.hardware.coefficients import Coefficients
from sim.router.idle import without_effect
from sim.scenario.scenario import Scenario
from sim.simulation.explain import OWN_POLICY
from sim.simulation.front_ends import front_end_notes
from sim.workload.answers import describe
from sim.workload.request import Trace

_HANGS_TOLD = 4


def notes_of(
    cluster: Cluster,
    trace: Trace,
    times: Coefficients,
    startup: Iterable[str],
    *,
    own_law: bool,
    own_policy: bool,
) -> list[str]:
    """Return the notes of a run; `startup`: what there is to say of how its engines start.

    `own_law`, `own_policy`: the caller gave a step-time law, or a routing policy.
    """
    scenario = cluster.scenario
    return [
        *_hangs(cluster),
        *_notes(trace, times, scenario.timing.draw, own_law=own_law, own_policy=own_policy),
        describe(trace, cluster.answers, scenario.replay.answers),
        *_decode_times(scenario, times, own_law=own_law),
        *startup,
        *_gpus(cluster),
        *cluster.replay.notes,
        *front_end_notes(scenario),
        *_resent(cluster),
        *_apart(scenario),
        *_without_effect(scenario),
        *_of_router(scenario),
        *_unknown_sessions(scenario, trace),
        *_binds_nobody(scenario, trace),
    ]


def _hangs(cluster: Cluster) -> list[str]:
    """Say of the workers that hang why; of many, of the first."""
    said = [f"worker {index} {hang.why}" for index, hang in cluster.hangs.items()]
    more = len(said) - _HANGS_TOLD
    return said[:_HANGS_TOLD] + ([f"{more} more {plural(more, 'worker')} hang"] if more > 0 else [])


def _notes(trace: Trace, times: Coefficients, draw: int, *, own_law: bool, own_policy: bool) -> list[str]:
    law = "step times: a law passed by the caller"
    if not own_law:
        law = f"step times ({times.origin}): {times.summary}"
    drawn = [f"coefficients and links: draw {draw} over their ranges"] if draw else []
    return [law, *drawn, *([OWN_POLICY] if own_policy else []), *trace.notes]


def _decode_times(scenario: Scenario, times: Coefficients, *, own_law: bool) -> list[str]:
    """Say what the times of decode workers rest on, where they are spread over GPUs in another way."""
    if own_law or not scenario.workers.decode:
        return []
    found = scenario.decode_coefficients()
    if (found.origin, found.summary) == (times.origin, times.summary):
        return []
    return [f"step times of decode workers ({found.origin}): {found.summary}"]


def _gpus(cluster: Cluster) -> list[str]:
    """Say how engines of several GPUs are spread, and what the pool of a rank holds."""
    workers, first, decode = cluster.scenario.workers, cluster.capacity, cluster.decode_capacity
    if max(workers.first.parallel.gpus, workers.then.parallel.gpus) == 1:
        return []
    pools = [f"{first.pool_tokens:,}"]
    if decode.pool_tokens != first.pool_tokens:
        pools.append(f"{decode.pool_tokens:,} (decode)")
    return [f"workers: {workers}, {exactly(workers.gpus, 'GPU')}; KV tokens a rank: {' and '.join(pools)}"]


def _resent(cluster: Cluster) -> list[str]:
    """Say how often clients sent requests again that were refused."""
    times = cluster.recorder.resent
    if not times:
        return []
    return [f"refused and sent again by clients: {times:,} times (replay.retries)"]


def _apart(scenario: Scenario) -> list[str]:
    """Say where ranks do what vLLM does not let them do."""
    ranks = max(scenario.workers.first.parallel.data, scenario.workers.then.parallel.data)
    if ranks == 1:
        return []
    notes = ["workers are numbered by data-parallel rank: those of the first engine come first"]
    if scenario.model.experts is not None:
        notes.append(
            "data-parallel ranks of an engine with experts wait for each other at every step in vLLM; here "
            "each steps when it has work, which is faster where their loads differ"
        )
    if any(fault.kind in ("worker-dies", "worker-drains") for fault in scenario.faults):
        notes.append(
            "faults take one data-parallel rank away; of vLLM's engine all ranks go together: name each rank "
            "in a fault of its own"
        )
    return notes


def _without_effect(scenario: Scenario) -> list[str]:
    """Say what an aggregated scenario sets of `disaggregation`."""
    joined = scenario.disaggregation
    changed = [
        f"disaggregation.{key}" for key, value in joined if value != type(joined).model_fields[key].default
    ]
    if not changed or scenario.workers.prefill:
        return []
    return [f"without effect on aggregated workers: {', '.join(changed)}"]


def _of_router(scenario: Scenario) -> list[str]:
    """Say what of the router's settings is deprecated, or changes nothing here."""
    router, notes = scenario.router, list[str]()
    if router.overlap_score_weight is not None or router.overrides.overlap_score_weight is not None:
        notes.append(
            "router.overlap_score_weight is deprecated: give prefill_load_scale, and overlap_score_credit "
            "= 0 in place of a weight of 0"
        )
    if router.shared_cache_type != "none":
        notes.append("no simulated worker has a shared cache: router.shared_cache_type finds nothing there")
    fields = type(router).model_fields
    idle = [key for key in ("event_threads", "tracking_hash") if getattr(router, key) != fields[key].default]
    idle += without_effect(router, front_ends=scenario.frontend.replicas)
    if not scenario.workers.prefill:
        idle += [key for key in ("prefill_policy", "decode_policy") if getattr(router, key) is not None]
    if idle:
        notes.append(f"without effect here: {', '.join(f'router.{key}' for key in idle)}")
    return notes


def _binds_nobody(scenario: Scenario, trace: Trace) -> list[str]:
    """Say that a binding of sessions to workers waits for second requests that never come."""
    requests, ttl_s = trace.requests, scenario.router.session_affinity_ttl_secs
    if ttl_s is None or len({request.session for request in requests}) < len(requests):
        return []
    return ["no session has two requests: router.session_affinity_ttl_secs binds nobody"]


def _unknown_sessions(scenario: Scenario, trace: Trace) -> list[str]:
    """Say which faults name sessions that are not in the trace."""
    if not scenario.faults:
        return []
    known = {request.session for request in trace.requests}
    return [
        f"faults, entry {number}, {fault.kind}: no session is called {', '.join(map(repr, unknown))}"
        for number, fault in enumerate(scenario.faults, start=1)
        if (unknown := [name for name in getattr(fault, "sessions", ()) if name not in known])
    ]
