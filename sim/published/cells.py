"""Where a row is looked at, and what is run for it: a row is cells, a cell is made of one or two runs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim.published.targets import PAIRS, Place, Target

Numbers = dict[str, float | None]
"""A run's numbers by dotted name: see `sim.results.quantities`."""


class Point(NamedTuple):
    """A run to make, but for workload, seed and coefficients."""

    configuration: str
    """A scenario: of the cluster's folder, else a shipped one."""
    sessions: int
    replay: str
    """The client of the replay."""

    @property
    def settings(self) -> list[str]:
        """What it sets in its scenario."""
        return [f"workload.sessions={self.sessions}", f"replay.client={self.replay}", "output.tables=[]"]


class Cell(NamedTuple):
    """One place of a row."""

    label: str
    """The configuration, or both."""
    sessions: int
    points: tuple[Point, ...]
    """The runs that its number is made of."""

    def value(self, target: Target, numbers: Sequence[Numbers]) -> float | None:
        """Return the row's number here from those of its points, in the row's unit; None if not measured.

        Differences have a sign: second less first.
        """
        found = [run.get(target.metric) for run in numbers]
        known = [value for value in found if value is not None]
        if len(known) < len(self.points):
            return None
        scale = 1e3 if target.unit == "ms" else 1.0
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
    """Yield the cells of a row, session counts fastest."""
    if target.combine in PAIRS:
        first, second = target.configurations
        label = f"{first}/{second}" if target.combine == "ratio" else f"{second}-{first}"
        for sessions in target.session_counts:
            if all(target.speaks_of(Place(name, sessions)) for name in target.configurations):
                points = (Point(name, sessions, target.replay) for name in target.configurations)
                yield Cell(label, sessions, tuple(points))
        return
    replays: tuple[str, ...] = (target.replay,)
    if target.combine == "open-loop less turn-dependent":
        replays = ("open-loop", "turn-dependent")
    for name in target.configurations:
        for sessions in target.session_counts:
            if target.speaks_of(Place(name, sessions)):
                yield Cell(name, sessions, tuple(Point(name, sessions, replay) for replay in replays))


def points(targets: Sequence[Target]) -> list[Point]:
    """Return the runs that rows need, each once."""
    return list(dict.fromkeys(point for row in targets for cell in cells(row) for point in cell.points))
