"""Runs a recording through a simulated cluster: recorded times, and recorded or chosen workers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf
from operator import add
from typing import Any, Literal

from sim.base.errors import InputError
from sim.cluster.build import Cluster
from sim.cluster.checks.switch import watch_wanted
from sim.cluster.delays import constant_delays
from sim.hardware.hosts import HostSettings
from sim.kv.events import KvEvent
from sim.measured.workers import MeasuredWorker
from sim.results.rows import Rows
from sim.router import Policy
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies import make_policy
from sim.router.query import Query
from sim.scenario.scenario import Scenario
from sim.validation.replay.delays import RecordedDelays, RecordedTimes, Timing
from sim.validation.replay.events.engine_times import engine_times
from sim.validation.replay.events.stored import EngineLog, engine_logs
from sim.validation.replay.recording import Recording, pools
from sim.validation.replay.transfers import RecordedTransfers

NOT_RECORDED = (
    "warm_start",
    "warm_sessions",
    "warm_up_requests",
    "warm_up_s",
    "lanes",
    "think_factor",
    "max_think_s",
)
"""Keys of `replay` that say how a trace is sent otherwise than it was recorded."""

_NO_FRONT_DOOR = {"alpha_in_s": 0.0, "alpha_in_s_per_token": 0.0, "alpha_out_s": 0.0}
"""Requests come when their worker was chosen, and answers are timed where the client is."""


class RecordedChoice:
    """A `Policy` that takes the recorded worker; where none is known, what another policy takes."""

    def __init__(self, ranks: Mapping[int, int], otherwise: Policy) -> None:
        self._ranks = ranks
        self._otherwise = otherwise

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        rank = self._ranks.get(query.request)
        if rank is None or rank not in Candidates.of(terms).ranks:
            return self._otherwise(terms, query, draw)
        return rank


@dataclass(frozen=True)
class Replay:
    """What a replay gave."""

    recording: Recording
    scenario: Scenario
    rows: Rows
    block_bytes: int
    published: Sequence[Sequence[tuple[float, KvEvent]]]
    """KV events of each worker, with the time of the output that published them."""
    prompts: Sequence[Sequence[int]]
    """What those events call the full blocks of every prompt, by index."""

    @cached_property
    def requests(self) -> list[dict[str, Any]]:
        """The rows of the requests by index."""
        table = self.rows.tables["requests"]
        names = [column.name for column in table.columns]
        columns = (table.column(name) for name in names)
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        return sorted(rows, key=lambda row: row["index"])


def replay(
    recording: Recording,
    scenario: Scenario,
    *,
    forced: bool,
    timing: Timing | None = None,
    limit: int | None = None,
) -> Replay:
    """Run the recording on the cluster of a scenario, whose own workload, client and front door go unused.

    Args:
        recording: what is sent, and what was recorded of it.
        scenario: the cluster; its law times only what nothing was recorded of.
        forced: whether requests go to their recorded workers, and recorded KV events time the engines; else
            the scenario's router chooses, and what engines did elsewhere tells nothing.
        timing: of answers; by default as recorded.
        limit: requests that the client lets be in flight at once.

    Raises:
        InputError: the scenario has fewer workers than the run, or faults, which have no recorded times.

    """
    check_workers(recording, scenario)
    _check_faults(scenario)
    timing = timing or RecordedTimes(recording.times)
    changed = _as_recorded(scenario, limit, ("decisions",) if forced else ())
    logs = engine_logs(recording, scenario.block_tokens) if forced else []
    engines = engine_times(logs, changed.frontend.dispatch_s)
    capacity, times = scenario.capacity(), changed.coefficients()
    published: list[list[tuple[float, KvEvent]]] = [[] for _ in range(scenario.workers.ranks)]
    policy = make_policy(scenario.router)
    cluster = Cluster(
        changed,
        recording.trace,
        capacity,
        times,
        policy=RecordedChoice(recording.ranks, policy) if forced else None,
        decode_policy=RecordedChoice(recording.decode_ranks, policy) if forced else None,
        delays=RecordedDelays(
            timing,
            constant_delays(changed.frontend, times.frontend),
            engines,
            _by_worker(recording, scenario, logs),
            block_tokens=scenario.block_tokens,
            token_s=median_s(recording.run.workers, "itl_s") or inf,
        ),
        watch=watch_wanted(),
        transport=RecordedTransfers(timing, engines, median_s(recording.run.workers, "pull_s") or 0.0),
        published=lambda worker, events, now_s: published[worker].extend((now_s, e) for e in events),
    )
    cluster.run()
    prompts = [cluster.frontend.blocks_of(request) for request in recording.trace.requests] if forced else []
    return Replay(recording, scenario, cluster.recorder.rows, capacity.block_bytes, published, prompts)


def numbered(recording: Recording, scenario: Scenario) -> Iterator[tuple[str, int]]:
    """Yield each engine of the run with its number among the workers of the replay."""
    for pool, first in zip(pools(recording.run), (0, scenario.workers.first_decode), strict=True):
        yield from ((worker.name, first + rank) for rank, worker in enumerate(pool))


def _by_worker(recording: Recording, scenario: Scenario, logs: Iterable[EngineLog]) -> dict[int, EngineLog]:
    numbers = dict(numbered(recording, scenario))
    return {numbers[log.engine.worker]: log for log in logs}


def _as_recorded(scenario: Scenario, limit: int | None, tables: Sequence[str]) -> Scenario:
    """Return the scenario without its front door, with the recording's client, writing some tables."""
    return scenario.model_copy(
        update={
            "frontend": scenario.frontend.model_copy(update=_NO_FRONT_DOOR),
            "hosts": HostSettings(),
            "replay": scenario.replay.model_copy(update=_client(limit)),
            "output": scenario.output.model_copy(update={"tables": tables}),
        }
    )


def _client(limit: int | None) -> dict[str, object]:
    if limit is None:
        return {"client": "open-loop", "speedup": 1.0}
    return {"client": "max-concurrency", "max_concurrency": limit, "speedup": 1.0}


def median_s(workers: Iterable[MeasuredWorker], name: Literal["itl_s", "pull_s"]) -> float | None:
    """Return the median of a duration that the engines of a run counted; None if none of them did."""
    found = [
        histogram
        for worker in workers
        if worker.counters and (histogram := getattr(worker.counters, name)) is not None
    ]
    return reduce(add, found).quantile(0.5) if found else None


def _check_faults(scenario: Scenario) -> None:
    found = [("faults", scenario.faults), ("replay.timeout_s", scenario.replay.timeout_s)]
    keys = [key for key, value in found if value]
    if keys:
        says = "nothing breaks in a replay at recorded times; leave it out"
        raise InputError(f"{' and '.join(keys)}: {says} ({_none(keys)})")
    keys = [f"replay.{key}" for key in NOT_RECORDED if getattr(scenario.replay, key) is not None]
    if keys:
        raise InputError(
            f"{' and '.join(keys)}: a recorded run was sent as it was; leave it out ({_none(keys)})"
        )


def _none(keys: Iterable[str]) -> str:
    return " ".join(f"--set {key}=none" for key in keys)


def check_workers(recording: Recording, scenario: Scenario) -> None:
    """Raise InputError if the scenario has fewer workers than the run."""
    counts = scenario.workers.first.ranks, scenario.workers.then.ranks
    keys = "prefill" if scenario.workers.prefill else "count", "decode"
    for pool, count, key in zip(pools(recording.run), counts, keys, strict=True):
        if len(pool) > count:
            names = ", ".join(worker.name for worker in pool)
            raise InputError(
                f"workers.{key} = {count or 'none'}: run {recording.run.title} has {len(pool)} such engines "
                f"({names}); take a scenario of its layout"
            )
