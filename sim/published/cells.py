"""Where a row is looked at, and what is run for it: a row is cells, a cell is made of one or two runs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim.published.measures import Level, Numbers, level_text, number
from sim.published.targets import PAIRS, Place, Target


class Point(NamedTuple):
    """A run to make, but for workload, seed and coefficients."""

    configuration: str
    """A variant or a scenario of the cluster's folder, else a shipped scenario."""
    level: Level | None
    """What the cluster's level is set to; None: the scenario's own."""
    replay: str = ""
    """The client of the replay; "": the scenario's own."""

    def settings(self, level: str) -> list[str]:
        """Return what it sets in its scenario, `level` being the key that its level is of."""
        levels = [] if self.level is None else [f"{level}={self.level}"]
        clients = [f"replay.client={self.replay}"] if self.replay else []
        return [*levels, *clients, "output.tables=[]"]


class Cell(NamedTuple):
    """One place of a row."""

    label: str
    """The configuration, or both."""
    level: Level | None
    points: tuple[Point, ...]
    """The runs that its number is made of."""

    @property
    def place(self) -> str:
        """Where it is: "agg8@20"; without a level, the configuration."""
        return self.label if self.level is None else f"{self.label}@{level_text(self.level)}"

    def value(self, target: Target, numbers: Sequence[Numbers]) -> float | None:
        """Return the row's number here from those of its points, in the row's unit; None if not measured.

        Differences have a sign: second less first.
        """
        found = [number(run, target.metric) for run in numbers]
        known = [value for value in found if value is not None]
        if len(known) < len(self.points):
            return None
        scale = target.scale
        match target.combine:
            case "difference":
                return (known[1] - known[0]) * scale
            case "ratio":
                return known[0] / known[1] if known[1] else None
            case "open-loop less turn-dependent":
                return known[0] - known[1]
            case _:
                return known[0] * scale


def cells(target: Target) -> Iterator[Cell]:
    """Yield the cells of a row, levels fastest."""
    if target.combine in PAIRS:
        first, second = target.configurations
        label = f"{first}/{second}" if target.combine == "ratio" else f"{second}-{first}"
        for level in target.levels:
            if all(target.speaks_of(Place(name, level)) for name in target.configurations):
                points = (Point(name, level, target.replay) for name in target.configurations)
                yield Cell(label, level, tuple(points))
        return
    replays: tuple[str, ...] = (target.replay,)
    if target.combine == "open-loop less turn-dependent":
        replays = ("open-loop", "turn-dependent")
    for name in target.configurations:
        for level in target.levels:
            if target.speaks_of(Place(name, level)):
                # All tags are of one run, which the level sets nothing in.
                of_run = None if target.tag_level else level
                yield Cell(name, level, tuple(Point(name, of_run, replay) for replay in replays))


def points(targets: Sequence[Target]) -> list[Point]:
    """Return the runs that rows need, each once."""
    return list(dict.fromkeys(point for row in targets for cell in cells(row) for point in cell.points))
