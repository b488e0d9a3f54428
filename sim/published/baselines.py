"""What simpler models say of the same rows: other step times, and a cache without time."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sim.kv.prefix import PrefixTable
from sim.published.cells import Cell, Numbers, Point
from sim.published.scores import RowScore, score_values
from sim.published.study import Plans, Replicate, scenario_at
from sim.published.targets import Target
from sim.published.variants import Scored, Variant
from sim.scenario.scenario import Scenario
from sim.validation.predictions.lru import Lru
from sim.workload.load import load_workload
from sim.workload.request import Trace

STEP_TIMES = (
    Variant("priors"),
    Variant("roofline", ("timing.preset=roofline",)),
    Variant("peak roofline", ("timing.preset=peak-roofline",)),
    Variant("Dynamo's mocker", ("timing.preset=dynamo-mocker",)),
)
"""The same simulator with other step times."""

TIMELESS = "LRU, no time"
ANSWERED = {"prefill.recomputation_by_counter", "workers_per_session.mean"}
"""The numbers that a cache without time gives."""


def score_timeless(targets: Sequence[Target], plans: Plans) -> Scored:
    """Return what a cache without time says of the rows that it can answer, on the first workload."""

    @cache
    def numbers(point: Point, replicate: Replicate) -> Numbers:
        scenario = scenario_at(workload, point, replicate, plans.overrides)
        return timeless(scenario, load_workload(scenario.workload, scenario.seed, Path()))

    def row(target: Target) -> RowScore:
        def values(cell: Cell) -> list[float]:
            found = (
                cell.value(target, [numbers(point, run) for point in cell.points])
                for run in workload.replicates
            )
            return [value for value in found if value is not None]

        return score_values(target, values, workload.name)

    workload = plans.workloads[0]
    # Replays differ in time only.
    answered = [
        target for target in targets if target.metric in ANSWERED and target.combine in {"each", "ratio"}
    ]
    return Scored(Variant(TIMELESS), tuple(map(row, answered)))


def timeless(scenario: Scenario, trace: Trace) -> Numbers:
    """Return what a cache without time says: recomputation and workers a session, by the summary's names.

    Requests pass once, in the order of their timestamps. Each goes to the worker that has most of its prompt
    (ties: to the emptiest), where its blocks are at once. A worker has room for the blocks of its GPU and of
    its CPU tier; the least recently used go first. No answers, no recurrent states, no load.
    """
    capacity = scenario.capacity()
    room = capacity.num_blocks - 1 + (capacity.host[0].blocks if scenario.offload else 0)
    workers = [Lru(room) for _ in range(scenario.workers.prefill or scenario.workers.gpus)]
    everything = Lru(None)
    prefixes = PrefixTable(trace.chunk_tokens, scenario.block_tokens)
    used: dict[str, set[int]] = {}
    computed = required = 0
    for request in trace.requests:
        prompt = [*prefixes.add(request.chunks, request.prompt_tokens).blocks]
        hits = [worker.hit(prompt) for worker in workers]
        chosen = max(range(len(workers)), key=lambda rank: (hits[rank], -len(workers[rank])))
        workers[chosen].use(prompt)
        computed += request.prompt_tokens - hits[chosen] * scenario.block_tokens
        required += request.prompt_tokens - everything.use(prompt) * scenario.block_tokens
        used.setdefault(request.session, set()).add(chosen)
    return {
        "prefill.recomputation_by_counter": (computed - required) / required if required else None,
        "workers_per_session.mean": sum(map(len, used.values())) / len(used) if used else None,
    }
