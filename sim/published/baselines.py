"""What simpler models say of the same rows: other settings, and a cache without time."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import model_validator

from sim.base.settings import Settings
from sim.published.cells import Cell, Point
from sim.published.measures import Numbers
from sim.published.scores import RowScore, score_values
from sim.published.study import Maker, Plans, Replicate, scenario_at
from sim.published.targets import Target
from sim.published.variants import Scored, Variant, score_variants
from sim.scenario.scenario import Scenario
from sim.validation.predictions import lru
from sim.workload.load import load_workload
from sim.workload.request import Trace

ANSWERED = {"prefill.recomputation_by_counter", "workers_per_session.mean"}
"""The numbers that a cache without time gives."""


class Baseline(Settings):
    """A simpler model that stands beside the simulator: the same one with other settings, or without time."""

    name: str
    settings: tuple[str, ...] = ()
    """What it sets in every scenario, such as "timing.preset=roofline"."""
    timeless: bool = False
    """In place of the simulator: a cache without time, for the rows that it can answer."""

    @model_validator(mode="after")
    def _settings_are_heard(self) -> Self:
        if self.timeless and self.settings:
            raise ValueError("settings: a timeless baseline takes none")
        return self


def score_baselines(
    targets: Sequence[Target], baselines: Sequence[Baseline], plans: Plans, maker: Maker
) -> Iterator[Scored]:
    """Yield each baseline with its scores of dynamic rows, on the first workload."""
    for baseline in baselines:
        if baseline.timeless:
            yield score_timeless(baseline.name, targets, plans)
        else:
            yield from score_variants(targets, [Variant(baseline.name, baseline.settings)], plans, maker)


def score_timeless(name: str, targets: Sequence[Target], plans: Plans) -> Scored:
    """Return what a cache without time says of the rows that it can answer, on the first workload."""

    @cache
    def numbers(point: Point, replicate: Replicate) -> Numbers:
        scenario = scenario_at(workload, point, replicate, plans)
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
    return Scored(Variant(name), tuple(map(row, answered)))


def timeless(scenario: Scenario, trace: Trace) -> Numbers:
    """Return what a cache without time says: recomputation and workers a session, by the summary's names.

    Requests pass once, in the order of their timestamps: see `sim.validation.predictions.lru`.
    """
    used: dict[str, set[int]] = {}
    computed = 0
    for request, worker, cached in lru.routed(trace, scenario):
        computed += request.prompt_tokens - cached
        used.setdefault(request.session, set()).add(worker)
    prompts = sum(request.prompt_tokens for request in trace.requests)
    required = prompts - lru.reusable_tokens(trace, scenario.block_tokens)
    return {
        "prefill.recomputation_by_counter": (computed - required) / required if required else None,
        "workers_per_session.mean": sum(map(len, used.values())) / len(used) if used else None,
    }
