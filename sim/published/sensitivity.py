"""Which assumption each row hangs on: all of them moved, one at a time, and what that does to the rows."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from sim.base.whole_file import whole_file
from sim.published.assumptions import Assumption, Moved, moved
from sim.published.cells import cells, points
from sim.published.scores import RowScore
from sim.published.show_rows import band, place, quantity
from sim.published.study import Maker, Plans, scenario_at
from sim.published.targets import Target
from sim.published.variants import Scored, Variant, score_variants
from sim.show.text.page_table import PageTable

MATTERS = 0.1
"""A move matters to a row that it takes by a tenth nearer to its target."""
NAMED = 2
"""So many moves are named where none is enough."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a variant does to a row."""

    variant: Variant
    moved: Moved | None
    """The assumption; None: another workload."""
    before: RowScore
    after: RowScore

    @property
    def nearer(self) -> float:
        """By how much the row comes nearer to its target, in `scores.distance`."""
        return self.before.deciding.off - self.after.deciding.off

    @property
    def way(self) -> str:
        """What would have to be assumed for the row to hold: a straight line away, where that can be."""
        if self.moved is None or self.moved.numbers is None:
            return self.variant.name
        assumed, other = self.moved.numbers
        off, left = self.before.deciding.off, self.after.deciding.off
        share = off / (off - left) if off < inf else 1.0
        return f"{self.moved.name} {assumed + share * (other - assumed):.3g}{self.moved.unit}"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the study found."""

    scored: list[Scored]
    """As assumed, then every variant."""
    sentences: dict[str, str]
    """Of every row, by its id."""


def study(
    targets: Sequence[Target], assumptions: Sequence[Assumption], plans: Plans, maker: Maker
) -> Sensitivity:
    """Score rows with every assumption moved, and on every workload; those of one place that is enough are
    left out."""
    targets = [target for target in targets if target.holds == "every"]
    generated = plans.workloads[0]
    first = generated.replicates[0]
    scenarios = [scenario_at(generated, point, first, plans) for point in points(targets)]
    by_variant = {found.variant: found for found in moved(assumptions, scenarios)}
    others = [Variant(f"recorded {workload.name}", workload=workload) for workload in plans.workloads[1:]]
    variants = [Variant("as assumed"), *by_variant, *others]
    scored = list(score_variants(targets, variants, plans, maker))
    base, *rest = scored
    sentences = {}
    for number, row in enumerate(base.rows):
        effects = [
            Effect(other.variant, by_variant.get(other.variant), row, other.rows[number]) for other in rest
        ]
        sentences[row.target.id] = sentence(row, effects)
    return Sensitivity(scored, sentences)


def write_sentences(found: Sensitivity, path: Path) -> None:
    """Write a line for each row, as CSV."""
    with whole_file(path) as built, built.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("id", "holds", "sentence"))
        for row in found.scored[0].rows:
            lines.writerow((row.target.id, "yes" if row.holds else "no", found.sentences[row.target.id]))


def render_sentences(found: Sensitivity) -> RenderableType:
    """Return a paragraph for each row, ready to print."""
    lines = PageTable.grid(padding=(0, 2, 0, 0))
    for row in found.scored[0].rows:
        lines.add_row(Text(row.target.name, style="bold"), found.sentences[row.target.id])
    return lines


def narrowed(target: Target, places: Sequence[int]) -> Target:
    """Return a row that speaks of those session counts of its range that are nearest to these, if any."""
    counts = sorted({cell.level for cell in cells(target) if cell.level is not None})
    if target.printed is not None or not counts:
        return target
    kept = {min(counts, key=lambda count: abs(count - place)) for place in places} or {*counts}
    left_out = [level for level in target.levels if level not in kept]
    excepted = [f"{name}@{level}" for name in target.configurations for level in left_out]
    return target.model_copy(update={"excepted": (*target.excepted, *excepted)})


def sentence(row: RowScore, effects: Sequence[Effect]) -> str:
    """Return what is to be said of a row: how far it is, and which assumption would have to be how."""
    found = f"{_reached(row)}, printed {band(row.target)}"
    if row.holds:
        losing = [effect.variant.name for effect in effects if not effect.after.holds]
        return f"{found}: inside{'; not with ' + ', '.join(losing) if losing else ', whatever is moved'}."
    enough = [effect.way for effect in effects if effect.after.holds]
    if enough:
        return f"{found}: would hold with {' or '.join(enough)}."
    near = sorted(
        (effect for effect in effects if effect.nearer > MATTERS), key=lambda effect: -effect.nearer
    )
    if not near:
        return f"{found}: nothing that was moved brings it nearer."
    ways = ", ".join(f"{effect.variant.name} ({_reached(effect.after)})" for effect in near[:NAMED])
    return f"{found}: no single assumption is enough; nearest come {ways}."


def _reached(row: RowScore) -> str:
    return f"{quantity(row.target, row.deciding.median)} at {place(row.deciding)}"
