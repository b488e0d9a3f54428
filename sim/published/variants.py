"""The simulator in several variants, each scored on the same rows: baselines, or one assumption moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sim.published.cells import points
from sim.published.scores import RowScore, score
from sim.published.study import Maker, Plans, Workload, make
from sim.published.targets import Target


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the simulator."""

    name: str
    settings: tuple[str, ...] = ()
    """What it sets in every scenario, after everything else."""
    workload: Workload | None = None
    """What is sent instead."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A variant and what it says of every row."""

    variant: Variant
    rows: tuple[RowScore, ...]


def score_variants(
    targets: Sequence[Target], variants: Sequence[Variant], plans: Plans, maker: Maker
) -> Iterator[Scored]:
    """Yield each variant with its scores of dynamic rows, on the first workload of the plans or its own."""
    for variant in variants:
        workload = variant.workload or plans.workloads[0]
        own = replace(plans, workloads=[workload], overrides=[*plans.overrides, *variant.settings])
        study = make(points(targets), own, maker)
        yield Scored(variant, tuple(score(row, study, workload) for row in targets))
