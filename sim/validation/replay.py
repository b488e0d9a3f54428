"""Runs a recording through a simulated cluster: recorded times, and recorded or chosen workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.clock import Phase, at_time
from sim.cluster import Cluster
from sim.errors import InputError
from sim.results.rows import Rows
from sim.router import Policy
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies import make_policy
from sim.router.query import Query
from sim.scenario import Scenario
from sim.validation.pace import RecordedAnswers, RecordedPace, RecordedTransfers
from sim.validation.recording import Recording, pools

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


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay gave."""

    recording: Recording
    scenario: Scenario
    rows: Rows
    block_bytes: int
    held_blocks: Sequence[Sequence[int]]
    """By sample, then by worker: blocks of the attention group in GPU memory that carry a hash."""


def replay(
    recording: Recording, scenario: Scenario, *, forced: bool, samples_s: Sequence[float] = ()
) -> Replay:
    """Run the recording on the cluster of a scenario, whose own workload, client and front door go unused.

    Args:
        recording: what is sent, and what was recorded of it.
        scenario: the cluster; its law times only what nothing was recorded of.
        forced: whether requests go to their recorded workers; else the scenario's router chooses.
        samples_s: when to count the blocks that are held, in seconds of the replay.

    Raises:
        InputError: the scenario has fewer workers than the run.

    """
    check_workers(recording, scenario)
    changed = {
        "frontend": scenario.frontend.model_copy(update=_NO_FRONT_DOOR),
        "replay": scenario.replay.model_copy(update={"client": "open-loop", "speedup": 1.0}),
        "output": scenario.output.model_copy(update={"tables": ("decisions",) if forced else ()}),
    }
    cluster = Cluster(
        scenario.model_copy(update=changed),
        recording.trace,
        scenario.capacity(),
        scenario.model_copy(update=changed).coefficients(),
        policy=RecordedChoice(recording.ranks, make_policy(scenario.router)) if forced else None,
        decode_policy=RecordedChoice(recording.decode_ranks, make_policy(scenario.router))
        if forced
        else None,
        pace=RecordedPace(recording.times),
    )
    cluster.frontend.answers = RecordedAnswers(recording.times)
    if cluster.pulls is not None:
        cluster.pulls.network = RecordedTransfers(recording.times)
    held: list[list[int]] = []
    for sample_s in samples_s:
        event = at_time(cluster.env, sample_s, Phase.SCHEDULE, len(cluster.workers))
        event.callbacks.append(lambda _: held.append(_held_blocks(cluster)))
    cluster.run()
    return Replay(recording, scenario, cluster.recorder.rows, cluster.capacity.block_bytes, held)


def _held_blocks(cluster: Cluster) -> list[int]:
    group = cluster.scenario.model.state_groups
    return [
        sum(stop - start for start, stop, _ in worker.engine.cache.pool.cached[group].changed())
        for worker in cluster.workers
    ]


def check_workers(recording: Recording, scenario: Scenario) -> None:
    """Raise InputError if the scenario has fewer workers than the run."""
    counts = scenario.workers.prefill or scenario.workers.count or 0, scenario.workers.decode or 0
    keys = "prefill" if scenario.workers.prefill else "count", "decode"
    for pool, count, key in zip(pools(recording.run), counts, keys, strict=True):
        if len(pool) > count:
            names = ", ".join(worker.name for worker in pool)
            raise InputError(
                f"workers.{key} = {count or 'none'}: run {recording.run.title} has {len(pool)} such engines "
                f"({names}); take a scenario of its layout"
            )
