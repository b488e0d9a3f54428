"""Fits coefficients of the step time to the rows that may be fitted, and to nothing else.

What is minimised is, in units of -2 log likelihood: of each row, the mean over its places of a Student
density with 4 degrees of freedom in how far the row is from its band, 30 % being one scale; and of each
coefficient the square of its distance from its prior in standard deviations. Rows that no coefficient can
reach therefore do not drag the others along.

A round runs the simulator at a centre and a step to both sides of it along each coefficient, takes straight
lines through what that gives (`sim.published.surface`), and tries the least loss of those lines, found from
several starts; the best of all that was tried is the next centre. All runs have the same seeds: they differ
by the coefficients only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from sim.base.errors import InputError
from sim.base.sums import added
from sim.hardware.coefficient_file import CoefficientFile
from sim.published.cells import points
from sim.published.scores import RowScore, score
from sim.published.standard import Standard
from sim.published.study import Maker, Plans, make
from sim.published.surface import Line, Z, line
from sim.published.targets import Target

STARTS = 8
"""Searches on the lines of a round, which cost nothing."""

_FREEDOM = 4
_SCALE = 0.3
"""One scale of a row's distance, a logarithm: one set of sessions differs from the next by as much."""
_STEP = 1.0
"""To both sides of a centre, in standard deviations."""
_FAR = 2.0
"""Lines are believed so many standard deviations from their centre."""
_HALVINGS = 5
_LEAST_SIGMA = 0.05
"""Of an interval, in standard deviations of the prior: the lines are no better than that."""
_SHORTER = (1.0, 0.5)
"""Shares of the way to the least loss of the lines that are tried."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Coefficients that were tried."""

    z: Z
    rows: tuple[RowScore, ...]
    loss: float


@dataclass(frozen=True, slots=True)
class Fit:
    """What the search found."""

    names: tuple[str, ...]
    prior: Evaluation
    best: Evaluation
    values: Mapping[str, float]
    """Of the best, in seconds."""
    sigmas: Mapping[str, float]
    """How well each is known, in seconds: half of what leaves the loss within one of its least, the others
    free to follow, by the lines of the last round."""
    evaluations: int


class Search:
    """Tries coefficients, each set of them once."""

    def __init__(
        self,
        targets: Sequence[Target],
        names: Sequence[str],
        plans: Plans,
        maker: Maker,
        file: CoefficientFile,
    ) -> None:
        """Prepare a search over the coefficients of these names.

        Raises:
            InputError: a coefficient is not in the file, or no row may be fitted.

        """
        self._targets = [target for target in targets if target.fitted]
        if not self._targets:
            raise InputError("no dynamic row has may_be_fitted = yes")
        if missing := [name for name in names if name not in file.entries]:
            raise InputError(f"the file of coefficients has no {', '.join(missing)}")
        self._names = tuple(names)
        self._plans, self._maker = plans, maker
        self._scales = [Standard(file.entries[name].uncertain) for name in names]
        self._draws = [file.drawn(k) for k in range(1, STARTS)]
        self._tried: dict[Z, Evaluation] = {}

    def run(self, rounds: int) -> Fit:
        """Search from the priors, so many rounds at most; one that comes no nearer is the last."""
        prior = best = self.evaluate((0.0,) * len(self._names))
        for _ in range(rounds):
            centre, lines = best, self._lines(best)
            found = self._least(centre, lines)
            for share in _SHORTER:
                self.evaluate([at + share * (to - at) for at, to in zip(centre.z, found, strict=True)])
            best = min(self._tried.values(), key=lambda tried: tried.loss)
            if best is centre:
                break
        sigmas = dict(zip(self._names, self._sigmas(centre, lines), strict=True))
        return Fit(self._names, prior, best, self._values(best.z), sigmas, len(self._tried))

    def evaluate(self, z: Sequence[float]) -> Evaluation:
        """Return what these coefficients do to the rows."""
        held = self._held(z)
        if held not in self._tried:
            rows = self._rows(held)
            self._tried[held] = Evaluation(held, rows, loss(rows, held))
        return self._tried[held]

    def _held(self, z: Sequence[float]) -> Z:
        """Return coefficients within their ranges."""
        pairs = zip(z, self._scales, strict=True)
        return tuple(round(min(max(value, scale.low), scale.high), 3) for value, scale in pairs)

    def _rows(self, z: Z) -> tuple[RowScore, ...]:
        settings = [f"{_section(name)}.{name}={value!r}" for name, value in self._values(z).items()]
        plans = replace(self._plans, overrides=[*self._plans.overrides, *settings])
        study = make(points(self._targets), plans, self._maker)
        return tuple(score(target, study, plans.workloads[0]) for target in self._targets)

    def _values(self, z: Sequence[float]) -> dict[str, float]:
        pairs = zip(self._names, self._scales, z, strict=True)
        return {name: float(f"{scale.value(at):.4g}") for name, scale, at in pairs}

    def _lines(self, centre: Evaluation) -> list[list[Line]]:
        """Return the lines of every row's places, from a step to both sides along each coefficient."""
        sides = [
            tuple(self.evaluate(_moved(centre.z, place, step)) for step in (-_STEP, _STEP))
            for place in range(len(self._names))
        ]
        return [
            [
                line(
                    row.target,
                    _number(centre, number, place),
                    [
                        (
                            below.z[along],
                            above.z[along],
                            _number(below, number, place),
                            _number(above, number, place),
                        )
                        for along, (below, above) in enumerate(sides)
                    ],
                )
                for place in range(len(row.cells))
            ]
            for number, row in enumerate(centre.rows)
        ]

    def _least(self, centre: Evaluation, lines: Sequence[Sequence[Line]]) -> Z:
        """Return where the lines have their least loss, not too far from their centre."""
        found = [self._descend(centre, lines, start, {}) for start in self._starts(centre)]
        return min(found, key=lambda ended: ended[0])[1]

    def _starts(self, centre: Evaluation) -> Iterator[Z]:
        yield centre.z
        for values in self._draws:
            yield tuple(scale.z(values[name]) for name, scale in zip(self._names, self._scales, strict=True))

    def _descend(
        self, centre: Evaluation, lines: Sequence[Sequence[Line]], start: Z, held: Mapping[int, float]
    ) -> tuple[float, Z]:
        """Return the least loss of the lines, found from a start, and where; `held`: kept at a value."""
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

        free = [place for place in range(len(self._names)) if place not in held]
        bounds = [self._bounds(centre, place) for place in free]

        def whole(moved: Sequence[float]) -> list[float]:
            at = {**held, **dict(zip(free, moved, strict=True))}
            return [at[place] for place in range(len(self._names))]

        inside = [min(max(start[at], low), high) for at, (low, high) in zip(free, bounds, strict=True)]
        ended = minimize(
            lambda moved: _lines_loss(centre, lines, whole(moved)), inside, method="Powell", bounds=bounds
        )
        return float(ended.fun), self._held(whole(ended.x))

    def _bounds(self, centre: Evaluation, place: int) -> tuple[float, float]:
        scale, at = self._scales[place], centre.z[place]
        return max(scale.low, at - _FAR), min(scale.high, at + _FAR)

    def _sigmas(self, centre: Evaluation, lines: Sequence[Sequence[Line]]) -> Iterator[float]:
        """Yield half of each coefficient's interval: see `Fit.sigmas`."""
        least, where = min(self._descend(centre, lines, start, {}) for start in self._starts(centre))

        def reach(place: int, end: float) -> float:
            """Return how far a coefficient goes towards an end until the loss has grown by one."""
            near, far = where[place], end
            for _ in range(_HALVINGS):
                middle = (near + far) / 2
                if self._descend(centre, lines, where, {place: middle})[0] <= least + 1:
                    near = middle
                else:
                    far = middle
            return abs(near - where[place])

        for place, scale in enumerate(self._scales):
            ends = [reach(place, end) for end in self._bounds(centre, place)]
            yield scale.spread(where[place], max(added(ends) / 2, _LEAST_SIGMA))


def _lines_loss(centre: Evaluation, lines: Sequence[Sequence[Line]], z: Sequence[float]) -> float:
    """Return the loss that the lines give."""
    move = [to - at for to, at in zip(z, centre.z, strict=True)]
    rows = (added(_place_loss(place.off(move)) for place in row) / len(row) for row in lines)
    return added(rows) + added(value * value for value in z)


def _moved(z: Z, place: int, step: float) -> Z:
    return (*z[:place], z[place] + step, *z[place + 1 :])


def _number(tried: Evaluation, row: int, place: int) -> float:
    """Return a place's number, 0 where nothing was measured."""
    return tried.rows[row].cells[place].median or 0.0


def loss(rows: Sequence[RowScore], z: Sequence[float]) -> float:
    """Return what is minimised: see the module."""
    return added(map(row_loss, rows)) + added(value * value for value in z)


def row_loss(row: RowScore) -> float:
    """Return a row's part: 0 where it holds at every place."""
    found = [_place_loss(cell.off) for cell in row.cells]
    return added(found) / len(found)


def _place_loss(off: float) -> float:
    off = min(max(off, 0.0), 1e6)  # infinite of nothing measured
    return (_FREEDOM + 1) * log(1 + off * off / (_FREEDOM * _SCALE * _SCALE))


def _section(name: str) -> str:
    return "frontend" if name.startswith("alpha") else "timing"
