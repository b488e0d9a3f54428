"""Which assumption each row hangs on: all of them moved, one at a time, and what that does to the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sim.talk.assumptions import Moved
from sim.talk.scores import RowScore
from sim.talk.show import band, place, quantity
from sim.talk.targets import Target

PLACES = (12, 20, 28)
"""Session counts that stand for a range in the study."""
MATTERS = 0.1
"""A move matters to a row that it takes by a tenth nearer to its target."""
NAMED = 2
"""So many moves are named where none is enough."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What moving an assumption does to a row."""

    moved: Moved
    before: RowScore
    after: RowScore

    @property
    def nearer(self) -> float:
        """By how much the row comes nearer to its target, in `scores.distance`."""
        return self.before.deciding.off - self.after.deciding.off

    @property
    def needed(self) -> str:
        """The value with which the row would hold: between the two by a straight line, if that makes sense."""
        if self.moved.numbers is None:
            return self.moved.text
        assumed, other = self.moved.numbers
        off, left = self.before.deciding.off, self.after.deciding.off
        share = off / (off - left) if off < inf else 1.0
        return f"about {assumed + share * (other - assumed):.3g}{self.moved.unit}"


def narrowed(target: Target) -> Target:
    """Return a row that speaks of few session counts of its range; of its own, if it has none of them."""
    kept = [count for count in target.session_counts if count in PLACES]
    if not kept:
        return target
    left_out = {*target.session_counts} - {*kept}
    places = [f"{name}@{count}" for name in target.configurations for count in sorted(left_out)]
    return target.model_copy(update={"excepted": (*target.excepted, *places)})


def sentence(row: RowScore, effects: Sequence[Effect]) -> str:
    """Return what is to be said of a row: how far it is, and which assumption would have to be how."""
    deciding = row.deciding
    found = f"{quantity(row.target, deciding.median)} at {place(deciding)}, printed {band(row.target)}"
    if row.holds:
        losing = [effect.moved.variant.name for effect in effects if not effect.after.holds]
        return f"{found}: inside{'; not with ' + ', '.join(losing) if losing else ', whatever is moved'}."
    enough = [effect for effect in effects if effect.after.holds]
    if enough:
        ways = " or ".join(f"{effect.moved.name} {effect.needed}" for effect in enough)
        return f"{found}: would hold with {ways}."
    near = sorted((effect for effect in effects if effect.nearer > MATTERS), key=lambda effect: -effect.nearer)
    if not near:
        return f"{found}: nothing that was moved brings it nearer."
    ways = ", ".join(f"{effect.moved.variant.name} ({_reached(effect.after)})" for effect in near[:NAMED])
    return f"{found}: no single assumption is enough; nearest come {ways}."


def _reached(row: RowScore) -> str:
    return f"{quantity(row.target, row.deciding.median)} at {place(row.deciding)}"
