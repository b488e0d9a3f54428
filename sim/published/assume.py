"""Sets of assumptions beside each other: what a publication leaves open, several things moved at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field, field_validator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.settings import Settings
from sim.published.cells import points
from sim.published.scores import RowScore, score
from sim.published.study import Maker, Plans, Study, Workload, make
from sim.published.targets import Target

_OF_GENERATED = "workload.profile="
"""A recorded workload has sessions of its own."""


class AssumptionSet(Settings):
    """A table `[assumptions.<name>]` of `study.toml`."""

    title: str = ""
    """What a person reads; empty: the name."""
    why: str = Field(min_length=1)
    """What speaks for it: arguments of the source, never the rows that it is tried on."""
    set: tuple[str, ...] = ()
    """What it sets in every scenario; none: the defaults."""

    @field_validator("set")
    @classmethod
    def _written(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if "=" not in text:
                raise ValueError(f"{text}: write it as key=value")
        return texts


@dataclass(frozen=True, slots=True)
class Assumed:
    """A set of assumptions, or one of its settings left out, and what it says of every row on a workload."""

    name: str
    title: str
    left_out: str | None
    """The setting that was left out."""
    workload: str
    rows: tuple[RowScore, ...]
    hung: tuple[str, ...]
    """Runs that gave no number, where they are."""
    runs: int

    @property
    def held(self) -> int:
        """How many rows hold."""
        return sum(row.holds for row in self.rows)

    @property
    def heading(self) -> str:
        """What a column of a table is called."""
        return self.title if self.workload == "generated" else f"{self.title}, {self.workload}"


def chosen(names: Sequence[str], known: Mapping[str, AssumptionSet], where: str) -> dict[str, AssumptionSet]:
    """Return the sets of these names, "all" being every one; raises InputError if there is no such one."""
    if [*names] == ["all"] and known:
        return {**known}
    for name in names:
        if name not in known:
            raise InputError(
                f"--assume {name}: {where} has no such set of assumptions, but "
                f"{', '.join(known) or 'none'}{did_you_mean(name, known)}"
            )
    return {name: known[name] for name in names}


def score_assumed(
    targets: Sequence[Target],
    sets: Mapping[str, AssumptionSet],
    plans: Plans,
    maker: Maker,
    *,
    without: bool = False,
) -> list[Assumed]:
    """Score the rows under each set of assumptions on each workload.

    With `without`, on the first workload also with each setting of a set left out, one at a time.
    """
    found: list[Assumed] = []
    for name, assumptions in sets.items():
        for number, workload in enumerate(plans.workloads):
            variants: list[str | None] = [None, *(assumptions.set if without and not number else ())]
            for left_out in variants:
                settings = [text for text in assumptions.set if text != left_out]
                study = make(points(targets), _under(plans, workload, settings), maker)
                rows = tuple(score(row, study, workload) for row in targets)
                found.append(
                    Assumed(
                        name,
                        assumptions.title or name,
                        left_out,
                        workload.name,
                        rows,
                        tuple(_hung(study)),
                        len(study.made),
                    )
                )
    return found


def _under(plans: Plans, workload: Workload, settings: Sequence[str]) -> Plans:
    own = [text for text in settings if not (workload.settings and text.startswith(_OF_GENERATED))]
    return replace(plans, workloads=[workload], overrides=[*plans.overrides, *own])


def _hung(study: Study) -> Iterator[str]:
    for one in study.made:
        if one.hung:
            number = one.replicate.seed if one.replicate.set is None else one.replicate.set
            yield f"{one.point.configuration}@{one.point.level} set {number}"


def hangs_on(found: Sequence[Assumed]) -> dict[str, dict[str, str]]:
    """Return, by set and row, what the row hangs on: the settings without which it holds no longer, or does.

    Of sets of which single settings were left out.
    """
    sentences: dict[str, dict[str, str]] = {}
    for whole in found:
        others = [
            each
            for each in found
            if each.left_out is not None and each.name == whole.name and each.workload == whole.workload
        ]
        if whole.left_out is not None or not others:
            continue
        sentences[whole.name] = {
            row.target.id: _sentence(
                row.holds, [(each.left_out or "", each.rows[at].holds) for each in others]
            )
            for at, row in enumerate(whole.rows)
        }
    return sentences


def _sentence(holds: bool, without: Sequence[tuple[str, bool]]) -> str:
    turned = " or ".join(left_out for left_out, held in without if held is not holds)
    if holds:
        return f"inside; not without {turned}" if turned else "inside, whichever setting is left out"
    return f"outside; inside without {turned}" if turned else "outside, whichever setting is left out"
