"""Step times fitted to recorded runs: least squares over what each request took.

Two coefficients are fitted: the shortest step (`t_floor_s`) and what a token costs (`c_tok_s_per_token`); a
run tells little more than such sums. The simulator itself gives the predictions, with requests on their
recorded workers, so that only time is in question. Residuals are logarithms of predicted by measured TTFT and
E2E of each request, with a loss (soft L1) that lets stragglers pull less. What else the machine did meanwhile
is in no coefficient: a fit is as good as its runs were quiet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from sim.base.errors import InputError
from sim.base.uniform import uniform
from sim.cluster.build import Cluster
from sim.cluster.checks.switch import watch_wanted
from sim.router.policies import make_policy
from sim.scenario.scenario import Scenario
from sim.validation.case import ValidationCase
from sim.validation.replay.client import as_the_client_would
from sim.validation.replay.recording import Recording
from sim.validation.replay.replay import RecordedChoice, check_workers

FITTED = ("t_floor_s", "c_tok_s_per_token")
_STEP = 0.05
"""Of the logarithm: a change that moves requests past each other, for the slope."""
_LEAST_S = 1e-7
"""To start from where the scenario has 0."""
_EVALUATIONS = 40
_LONGEST_S = 3600.0
"""No step takes so long: a draw beyond it is of a coefficient that the runs say nothing about."""
_REACH = 8.0
"""Standard deviations: no draw is further out."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients of the step-time law, in the order of `FITTED`, as logarithms."""

    runs: tuple[str, ...]
    """Titles of the runs that they were fitted to."""
    logs: tuple[float, ...]
    scatter: tuple[tuple[float, ...], ...]
    """A root of the covariance of the logarithms, by the slopes at the fit."""
    mean_error: float
    """Mean of |ln(predicted / measured)| over the TTFT and E2E of all requests."""

    @property
    def coefficients(self) -> dict[str, tuple[float, float, float]]:
        """Value and ends of the 95 % interval of each, in seconds."""
        found = {}
        for name, middle, row in zip(FITTED, self.logs, self.scatter, strict=True):
            reach = NormalDist().inv_cdf(0.975) * float(np.linalg.norm(row))
            found[name] = (exp(middle), exp(middle - reach), exp(middle + reach))
        return found

    def law(self, scenario: Scenario, k: int | None = None) -> Scenario:
        """Return a scenario with these coefficients, or with the k-th draw of them."""
        logs = np.array(self.logs)
        if k is not None:
            numbers = [max(uniform(k, f"fitted {name}", 0), 2.0**-53) for name in FITTED]
            logs = logs + np.array(self.scatter) @ [NormalDist().inv_cdf(u) for u in numbers]
        given = dict(zip(FITTED, np.exp(logs).tolist(), strict=True))
        label = f"fitted to the TTFT and E2E of {', '.join(self.runs)}"
        timing = scenario.timing.model_copy(update={**given, "label": label})
        return scenario.model_copy(update={"timing": timing})


def fit(cases: Sequence[ValidationCase]) -> Fitted:
    """Fit the law to runs.

    Raises:
        InputError: a run tells no latencies of its requests, or nothing to replay; its requests do not all
            complete in the scenario's cluster, the scenario's law has no coefficients, or one cannot be
            told from the runs.

    """
    fits = [_Fit(case) for case in cases]

    def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([one.residuals(np.exp(logs)) for one in fits])

    law = fits[0].scenario.coefficients().step
    start = [log(max(getattr(law, name), _LEAST_S)) for name in FITTED]
    found = least_squares(residuals, start, diff_step=_STEP, loss="soft_l1", max_nfev=_EVALUATIONS)
    spare = max(1, len(found.fun) - len(FITTED))
    covariance = np.linalg.pinv(found.jac.T @ found.jac) * 2 * found.cost / spare
    axes, variances, _ = np.linalg.svd(covariance, hermitian=True)
    fitted = Fitted(
        tuple(case.run.title for case in cases),
        tuple(found.x.tolist()),
        tuple(map(tuple, (axes * np.sqrt(variances)).tolist())),
        float(np.abs(found.fun).mean()),
    )
    check_told(fitted)
    return fitted


def check_told(fitted: Fitted) -> None:
    """Check that the runs tell both coefficients.

    Raises:
        InputError: a draw of one of them could be no time at all.

    """
    for name, middle, row in zip(FITTED, fitted.logs, fitted.scatter, strict=True):
        if middle + _REACH * float(np.linalg.norm(row)) > log(_LONGEST_S):
            raise InputError(
                f"{', '.join(fitted.runs)}: these requests do not tell {name}: it could be any number above "
                f"{exp(min(middle, log(_LONGEST_S))):.3g} s as well. Fit to runs with requests of other "
                "lengths, or leave the fit out and give coefficients (timing)"
            )


class _Fit:
    """One run that is fitted to."""

    def __init__(self, case: ValidationCase) -> None:
        scenario = case.scenario
        if scenario.timing.preset:
            raise InputError(f'timing.preset = "{scenario.timing.preset}": has no coefficients to fit')
        check_workers(case.recording, scenario)
        self.sent, self.scenario = as_the_client_would(case.recording, scenario)
        measured = {index: _latencies(self.sent, index) for index in self.sent.completed}
        self._measured = {index: found for index, found in measured.items() if found}
        if not self._measured:
            raise InputError(
                f"{case.run.folder.path}: no latencies of its requests to fit to: it needs the details of "
                "the client's result (--save-detailed)"
            )

    def residuals(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        scenario, times = self.scenario, self.scenario.coefficients()
        step = times.step.model_copy(update=dict(zip(FITTED, coefficients.tolist(), strict=True)))
        cluster = Cluster(
            scenario,
            self.sent.trace,
            scenario.capacity(),
            replace(times, step=step),
            policy=RecordedChoice(self.sent.ranks, make_policy(scenario.router)),
            decode_policy=RecordedChoice(self.sent.decode_ranks, make_policy(scenario.router)),
            watch=watch_wanted(),
        )
        cluster.run()
        table = cluster.recorder.rows.tables["requests"]
        table.sort("index")
        columns = (table.column("ttft_s"), table.column("e2e_s"))
        predicted = np.array([[column[index] for column in columns] for index in self._measured], float)
        if np.isnan(predicted).any():
            raise InputError(
                f"{self.sent.run.title}: not all of its completed requests complete in the scenario's "
                "cluster, so that no step times can be fitted"
            )
        logs: NDArray[np.float64] = np.log(predicted / np.array(list(self._measured.values())))
        return logs.ravel()


def _latencies(sent: Recording, index: int) -> tuple[float, float] | None:
    """Return TTFT and E2E of a request, if the client measured them."""
    bench = sent.requests[index].bench
    return (bench.ttft_s, bench.e2e_s) if bench and bench.ttft_s > 0 else None
