"""Which rules of a release moved a number, and how far, from runs with one rule switched at a time.

A rule's effect is the mean of two: what it does alone, switched to the new release while all others are of
the old one, and what is lost when it alone is switched back from the new one. With two rules that is their
Shapley value (L. S. Shapley, A value for n-person games, 1953), and the effects add up to the whole
difference; with more, what only several together do is left over, and kept as such.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sim.engine.rule_set import RuleSet
from sim.results.quantities import si_unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Case, Point
from sim.runs.paired import Estimate, difference, differences, mean_of
from sim.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = "engine.version"
_ROUNDING = 1e-9
"""Of a number: what is left of sums that cancel out."""


class Effect(NamedTuple):
    """How far one rule moves a number."""

    mean: Estimate
    """Of the next two."""
    alone: Estimate
    """All other rules are of the old release."""
    last: Estimate
    """All other rules are of the new release."""


class Move(NamedTuple):
    """A number of one scenario under two releases, and what moved it."""

    metric: str
    scenario: str
    old: Point
    """Where the scenario stands under the old release."""
    new: Point
    before: float | None
    """The mean over seeds that all runs have."""
    after: float | None
    whole: Estimate
    rules: dict[str, Effect]
    together: Estimate
    """What is left of the whole without the rules' means: they act on each other."""


class Pair(NamedTuple):
    """One scenario at one point under two releases, with the runs of each rule."""

    scenario: str
    old: Point
    new: Point
    runs: tuple[dict[Case, Run], dict[Case, Run]]
    switched: dict[str, tuple[dict[Case, Run], dict[Case, Run]]]
    """By rule: the old release with it, the new one without."""

    def move(self, metric: str) -> Move:
        """Return what moved a number, over the seeds with which all runs have it."""
        cases = self._cases(metric)
        first, other = (_numbers(runs, cases, metric) for runs in self.runs)
        rules: dict[str, Effect] = {}
        left = differences(first, other)
        for rule, (with_it, without) in self.switched.items():
            alone = differences(first, _numbers(with_it, cases, metric))
            last = differences(_numbers(without, cases, metric), other)
            means = [(a + b) / 2 for a, b in zip(alone, last, strict=True)]
            rules[rule] = Effect(mean_of(means), mean_of(alone), mean_of(last))
            left = [rest - part for rest, part in zip(left, means, strict=True)]
        size = max(map(abs, [*first, *other]), default=0.0)
        together = mean_of([0.0 if abs(rest) <= _ROUNDING * size else rest for rest in left])
        before, after = mean_of(first).value, mean_of(other).value
        whole = difference(first, other)
        return Move(metric, self.scenario, self.old, self.new, before, after, whole, rules, together)

    def _cases(self, metric: str) -> list[Case]:
        sides = [*self.runs, *(side for sides in self.switched.values() for side in sides)]
        return sorted(
            case
            for case in sides[0]
            if all(case in side and side[case].number(metric) is not None for side in sides)
        )

    @property
    def idle(self) -> list[str]:
        """The rules that were not switched: they cannot act here."""
        return [rule for rule in RuleSet._fields if rule not in self.switched]


WHOLE: Final = "all"
TOGETHER: Final = "together"


def effects_frame(comparison: Comparison, metrics: Sequence[str]) -> "pd.DataFrame":
    """Return a row for each number, pair of releases and rule, and for the whole and what is left of it."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    rows = []
    for pair in pairs(comparison):
        for metric in metrics:
            move = pair.move(metric)
            place = comparison.keys.index(VERSION)
            where = dict(zip(comparison.keys, move.old, strict=True)) | {
                "metric": metric,
                "unit": si_unit(metric),
                "scenario": move.scenario,
                "from": move.old[place],
                "to": move.new[place],
            }
            del where[VERSION]
            found = {rule: effect.mean for rule, effect in move.rules.items()}
            for rule, part in {WHOLE: move.whole, **found, TOGETHER: move.together}.items():
                ways = move.rules.get(rule)
                alone, last = (ways.alone.value, ways.last.value) if ways else (None, None)
                row = {"rule": rule, "moved": part.value, "low": part.low, "high": part.high}
                rows.append({**where, **row, "alone": alone, "last": last})
    return pd.DataFrame(rows).astype(dict.fromkeys(("moved", "low", "high", "alone", "last"), float))


def is_explained(comparison: Comparison) -> bool:
    """Whether runs tell what moved the numbers."""
    return bool(comparison.rule_runs)


def pairs(comparison: Comparison) -> Iterator[Pair]:
    """Yield every scenario at every point under the first release and under another, points fastest."""
    place = comparison.keys.index(VERSION)
    old, *others = comparison.values_of(VERSION)
    runs: dict[tuple[str, Point, str], dict[Case, Run]] = {}
    for run in (*comparison.runs, *comparison.rule_runs):
        key = run.scenario, comparison.point(run), run.switched
        runs.setdefault(key, {})[run.seed, run.draw] = run
    for scenario in comparison.scenarios:
        for new in others:
            for point in comparison.points:
                other = (*point[:place], new, *point[place + 1 :])
                sides = runs.get((scenario, point, "")), runs.get((scenario, other, ""))
                if point[place] == old and sides[0] and sides[1]:
                    switched = {
                        rule: (with_it, without)
                        for rule in RuleSet._fields
                        if (with_it := runs.get((scenario, point, f"{rule}={new}")))
                        and (without := runs.get((scenario, other, f"{rule}={old}")))
                    }
                    yield Pair(scenario, point, other, (sides[0], sides[1]), switched)


def to_dict(comparison: Comparison, metrics: Sequence[str]) -> dict[str, Any]:
    """Return a comparison ready for JSON; an explained one has what moved each number, and those runs."""
    content = comparison.to_dict(metrics)
    if not is_explained(comparison):
        return content
    content["moved_by"] = [
        _to_dict(comparison, pair.move(metric)) for pair in pairs(comparison) for metric in metrics
    ]
    content["rule_runs"] = [
        {**comparison.run_to_dict(run), "switched": run.switched} for run in comparison.rule_runs
    ]
    return content


def _to_dict(comparison: Comparison, move: Move) -> dict[str, Any]:
    return {
        "metric": move.metric,
        "scenario": move.scenario,
        "from": dict(zip(comparison.keys, move.old, strict=True)),
        "to": dict(zip(comparison.keys, move.new, strict=True)),
        "before": move.before,
        "after": move.after,
        "difference": move.whole._asdict(),
        "rules": {
            rule: {name: estimate._asdict() for name, estimate in effect._asdict().items()}
            for rule, effect in move.rules.items()
        },
        "together": move.together._asdict(),
    }


def _numbers(side: dict[Case, Run], cases: Sequence[Case], metric: str) -> list[float]:
    return [value for case in cases if (value := side[case].number(metric)) is not None]
