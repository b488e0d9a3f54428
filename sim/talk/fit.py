"""Fits coefficients of the step time to the rows that may be fitted, and to nothing else.

What is minimised is, in units of -2 log likelihood: of each row, the mean over its places of a Student
density with 4 degrees of freedom in how far the row is from its band, 10 % being one scale; and of each
coefficient the square of its distance from its prior in standard deviations. Rows that no coefficient can
reach therefore do not drag the others along. All evaluations have the same seeds: they differ by the
coefficients only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

from sim.coefficient_file import CoefficientFile
from sim.errors import InputError
from sim.talk.cells import points
from sim.talk.scores import RowScore, score
from sim.talk.standard import Standard
from sim.talk.study import Plans, Runner, make
from sim.talk.targets import Target

FITTED = ("a_pair_s", "c_tok_s_per_token", "c_kv_s_per_token", "t_floor_s", "alpha_in_s_per_token")
"""What the rows that may be fitted can tell anything of."""

PLACES = (20,)
"""Session counts that stand for a range in the fit: an evaluation is minutes otherwise."""

_FREEDOM = 4
_SCALE = 0.1
"""One scale of a row's distance, a logarithm."""
_STEP = 1.0
"""First step of a search from a start, and of an interval, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Coefficients that were tried."""

    z: tuple[float, ...]
    """Their distances from the prior, in standard deviations."""
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
    """How well each is known with the others held, one standard deviation in seconds."""
    evaluations: int


class Search:
    """Tries coefficients, each set of them once."""

    def __init__(
        self, targets: Sequence[Target], plans: Plans, runner: Runner, file: CoefficientFile
    ) -> None:
        """Prepare a search over `FITTED`.

        Raises:
            InputError: a coefficient is not in the file, or no row may be fitted.

        """
        self._targets = [target for target in targets if target.fitted]
        if not self._targets:
            raise InputError("no dynamic row has may_be_fitted = yes")
        if missing := [name for name in FITTED if name not in file.entries]:
            raise InputError(f"the file of coefficients has no {', '.join(missing)}")
        self._plans, self._runner, self._file = plans, runner, file
        self._scales = [Standard(file.entries[name].uncertain) for name in FITTED]
        self._tried: dict[tuple[float, ...], Evaluation] = {}

    def run(self, starts: int, evaluations: int) -> Fit:
        """Search from the best of the prior and its first draws, and from so many starts of those.

        Args:
            starts: searches, each from another of the tried draws.
            evaluations: most that each search tries.

        """
        prior = self.evaluate((0.0,) * len(FITTED))
        drawn = [self._file.drawn(k) for k in range(1, len(FITTED) + 2)]
        for values in drawn:
            self.evaluate([scale.z(values[name]) for name, scale in zip(FITTED, self._scales, strict=True)])
        for start in sorted(self._tried.values(), key=lambda tried: tried.loss)[:starts]:
            self._descend(start, evaluations)
        sigmas = self._sigmas(self._best())
        best = self._best()
        return Fit(FITTED, prior, best, self._values(best.z), sigmas, len(self._tried))

    def evaluate(self, z: Sequence[float]) -> Evaluation:
        """Return what these coefficients do to the rows."""
        held = tuple(
            round(min(max(value, scale.low), scale.high), 3)
            for value, scale in zip(z, self._scales, strict=True)
        )
        if held not in self._tried:
            rows = self._rows(held)
            self._tried[held] = Evaluation(held, rows, loss(rows, held))
        return self._tried[held]

    def _rows(self, z: tuple[float, ...]) -> tuple[RowScore, ...]:
        settings = [f"{_section(name)}.{name}={value!r}" for name, value in self._values(z).items()]
        plans = replace(self._plans, overrides=[*self._plans.overrides, *settings])
        study = make(points(self._targets), plans, self._runner)
        return tuple(score(target, study, plans.workloads[0]) for target in self._targets)

    def _values(self, z: Sequence[float]) -> dict[str, float]:
        pairs = zip(FITTED, self._scales, z, strict=True)
        return {name: float(f"{scale.value(at):.4g}") for name, scale, at in pairs}

    def _best(self) -> Evaluation:
        return min(self._tried.values(), key=lambda tried: tried.loss)

    def _descend(self, start: Evaluation, evaluations: int) -> None:
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

        simplex = [list(start.z)]
        for place, scale in enumerate(self._scales):
            corner = list(start.z)
            inward = -_STEP if start.z[place] + _STEP > scale.high else _STEP
            corner[place] += inward
            simplex.append(corner)
        minimize(
            lambda z: self.evaluate(z).loss,
            start.z,
            method="Nelder-Mead",
            bounds=[(scale.low, scale.high) for scale in self._scales],
            options={"maxfev": evaluations, "initial_simplex": simplex, "xatol": 0.05, "fatol": 0.05},
        )

    def _sigmas(self, best: Evaluation) -> dict[str, float]:
        """Return how far each coefficient may go, the others held, until the loss has grown by one."""
        found = {}
        for place, (name, scale) in enumerate(zip(FITTED, self._scales, strict=True)):
            steps = []
            for step in (-_STEP, _STEP):
                z = list(best.z)
                z[place] += step
                moved = self.evaluate(z)
                went, grew = abs(moved.z[place] - best.z[place]), moved.loss - best.loss
                if went and grew > 0:
                    steps.append(went / sqrt(grew))
            found[name] = scale.spread(best.z[place], min(steps, default=_STEP))
        return found


def loss(rows: Sequence[RowScore], z: Sequence[float]) -> float:
    """Return what is minimised: see the module."""
    return sum(map(row_loss, rows)) + sum(value * value for value in z)


def row_loss(row: RowScore) -> float:
    """Return a row's part: 0 where it holds at every place."""
    found = [_place_loss(max(cell.off, 0.0)) for cell in row.cells]
    return sum(found) / len(found)


def _place_loss(off: float) -> float:
    off = min(off, 1e6)  # of nothing measured
    return (_FREEDOM + 1) * log(1 + off * off / (_FREEDOM * _SCALE * _SCALE))


def _section(name: str) -> str:
    return "frontend" if name.startswith("alpha") else "timing"
