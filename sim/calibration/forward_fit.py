"""Fits the step-time law to timed batches: least squares of log(predicted / measured) over all of them.

Each case says what the law multiplies: tokens, sequences, context of decodes, pairs of prefill. Whether the
dense part gets a table is decided by the cases that were held out: where that is much closer to them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, lsq_linear

from sim.base.errors import InputError
from sim.base.sums import added
from sim.hardware.coefficient_file import HeldOut
from sim.hardware.coefficient_toml import rounded
from sim.hardware.dense_table import DenseTable
from sim.hardware.step_time import StepCoefficients, StepLaw, smooth_max
from sim.measured.formats.forward_json import ForwardCase

_HELD_OUT = 4
"""One case in so many is held out to test the fit."""
_LEAST_CASES, _LEAST_DIFFERENT = 12, 3
_MUCH_CLOSER = 0.7
"""Share of the error without a table that one must not exceed."""
_TOLERANCE = 0.05
"""Relative error from which a case counts less: one that was disturbed."""
_FURTHEST, _LEAST_FACTOR = 1e3, 1e-3
_SHARPNESS = 3.6
_KINDS: Mapping[str, Callable[[ForwardCase], bool]] = {
    "prefill steps": lambda case: not case.decode_batch,
    "decode steps": lambda case: not case.prefill,
    "steps of both": lambda case: bool(case.prefill) and bool(case.decode_batch),
}


@dataclass(frozen=True, slots=True)
class ForwardFit:
    """A law and how well it holds."""

    step: StepCoefficients
    table: DenseTable | None
    off: Mapping[str, float]
    """By coefficient: how far it may be off, as a share, at 95 %."""
    held_out: tuple[HeldOut, ...] = ()

    @property
    def law(self) -> StepLaw:
        """The law."""
        return StepLaw(self.step, self.table)


def fit(cases: Sequence[ForwardCase]) -> ForwardFit:
    """Return the law that hits the cases best.

    Raises:
        InputError: they are too few, or of one kind, to tell the law.

    """
    _check(cases)
    test = [case for i, case in enumerate(cases) if i % _HELD_OUT == _HELD_OUT - 1]
    rest = [case for i, case in enumerate(cases) if i % _HELD_OUT != _HELD_OUT - 1]
    plain, bent = (_errors(fitted(rest).law, test) for fitted in (_plain, _bent))
    fitted, errors = (_bent, bent) if _mean(bent) < _MUCH_CLOSER * _mean(plain) else (_plain, plain)
    held_out = tuple(
        _held_out(kind, own)
        for kind, belongs in _KINDS.items()
        if (own := [error for case, error in zip(test, errors, strict=True) if belongs(case)])
    )
    return replace(fitted(cases), held_out=held_out)


def compared(law: StepLaw, cases: Sequence[ForwardCase]) -> dict[str, list[tuple[int, float]]]:
    """Return tokens and predicted / timed of each case, by what kind of step it is."""
    return {
        kind: [(case.tokens, _step_s(law, case) / case.time_s) for case in cases if belongs(case)]
        for kind, belongs in _KINDS.items()
    }


def _check(cases: Sequence[ForwardCase]) -> None:
    if len(cases) < _LEAST_CASES:
        raise InputError(f"{len(cases)} cases: a fit takes at least {_LEAST_CASES}; see --cases")
    missing = [kind for kind in list(_KINDS)[:2] if not any(map(_KINDS[kind], cases))]
    if missing:
        raise InputError(f"no {' and no '.join(missing)} among the cases: they must be there; see --cases")
    different: dict[str, int] = {
        "contexts of decodes": len({case.decode_context_tokens for case in cases if not case.prefill}),
        "prefixes of prefills": len({case.pairs / case.tokens for case in cases if not case.decode_batch}),
        "tokens of a step": len({case.tokens for case in cases}),
    }
    for what, n in different.items():
        if n < _LEAST_DIFFERENT:
            raise InputError(f"{n} different {what}: a fit takes at least {_LEAST_DIFFERENT}; see --cases")


def _plain(cases: Sequence[ForwardCase]) -> ForwardFit:
    """Return the law without a table."""
    start = _start(cases)
    names, scales = list(start), np.array(list(start.values()))
    log_measured = np.log([case.time_s for case in cases])

    def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
        law = StepLaw(StepCoefficients(**dict(zip(names, (x * scales).tolist(), strict=True))))
        errors: NDArray[np.float64] = np.log([_step_s(law, case) for case in cases]) - log_measured
        return errors

    lowest = [1 / scale if name == "smooth_max_p" else 0.0 for name, scale in start.items()]
    highest = [8 / scale if name == "smooth_max_p" else _FURTHEST for name, scale in start.items()]
    lowest[names.index("t_floor_s")] = 1e-3
    found = least_squares(
        residuals,
        np.ones(len(names)),
        bounds=(lowest, highest),
        x_scale="jac",
        loss="soft_l1",
        f_scale=_TOLERANCE,
    )
    values = dict(zip(names, (found.x * scales).tolist(), strict=True))
    spare = max(len(cases) - len(names), 1)
    covariance = np.linalg.pinv(found.jac.T @ found.jac) * float((residuals(found.x) ** 2).sum()) / spare
    deviations = 1.96 * np.sqrt(np.maximum(np.diag(covariance), 0.0)) * scales
    off = {
        name: float(deviation) / values[name] if values[name] > 0 else 0.0
        for name, deviation in zip(names, deviations, strict=True)
    }
    return ForwardFit(_coefficients(values), None, off)


def _bent(cases: Sequence[ForwardCase]) -> ForwardFit:
    """Return the law with a table: straight lines between the tokens of the cases, and for attention."""
    prompts = sorted({case.tokens for case in cases if not case.decode_batch})
    batches = sorted({case.decode_batch for case in cases if not case.prefill})
    rows = []
    for case in cases:
        with_prefill, alone = np.zeros(len(prompts)), np.zeros(len(batches))
        if case.prefill:
            with_prefill = _between(case.tokens, prompts)
        else:
            alone = _between(case.tokens, batches)
        context = case.decode_context_tokens
        of_attention = (case.pairs, context, context if case.prefill else 0)
        rows.append(np.concatenate([with_prefill, alone, of_attention]) / case.time_s)
    matrix = np.array(rows)
    scales = np.maximum(np.abs(matrix).max(axis=0), 1e-30)
    times = lsq_linear(matrix / scales, np.ones(len(cases)), bounds=(0, np.inf)).x / scales
    *dense, a_pair_s, c_kv_s, c_mixed_s = times.tolist()
    prefill_s, decode_s = dense[: len(prompts)], dense[len(prompts) :]
    values = {
        "t_floor_s": max(decode_s[0], 1e-9),
        "c_tok_s_per_token": max(prefill_s[-1] / prompts[-1], 1e-12),
        "smooth_max_p": _SHARPNESS,
        "a_pair_s": a_pair_s,
        "c_kv_s_per_token": c_kv_s,
        "c_mixed_s_per_token": c_mixed_s,
    }
    step = _coefficients(values)
    knots = sorted({1, *prompts, *batches})
    plain = [smooth_max(step.t_floor_s, step.c_tok_s_per_token * n, step.smooth_max_p) for n in knots]
    with_prefill_s = [float(_between(n, prompts) @ np.array(prefill_s)) for n in knots]
    # No batch was larger: a step of more decodes is taken to cost what it would beside a prefill.
    alone_s = [
        float(_between(n, batches) @ np.array(decode_s)) if n <= batches[-1] else same_s
        for n, same_s in zip(knots, with_prefill_s, strict=True)
    ]
    table = DenseTable(
        tokens=tuple(knots), prefill=_factors(with_prefill_s, plain), decode=_factors(alone_s, plain)
    )
    return ForwardFit(step, table, dict.fromkeys(values, 0.0))


def _between(tokens: int, knots: Sequence[int]) -> NDArray[np.float64]:
    """Return what each knot counts for at so many tokens; beyond the last one in proportion."""
    found: NDArray[np.float64] = np.array([np.interp(tokens, knots, row) for row in np.eye(len(knots))])
    return found * max(1.0, tokens / knots[-1])


def _factors(times_s: Sequence[float], plain_s: Sequence[float]) -> tuple[float, ...]:
    """Return factors on the time without a table."""
    return tuple(
        rounded(min(max(time_s / without_s, _LEAST_FACTOR), _FURTHEST))
        for time_s, without_s in zip(times_s, plain_s, strict=True)
    )


def _coefficients(values: Mapping[str, float]) -> StepCoefficients:
    return StepCoefficients.model_validate({name: rounded(value) for name, value in values.items()})


def _start(cases: Sequence[ForwardCase]) -> dict[str, float]:
    """Return where the fit starts, and which coefficients the cases can tell."""
    shortest = min(case.time_s for case in cases)
    largest = max(cases, key=lambda case: case.tokens)
    most_pairs = max(cases, key=lambda case: case.pairs)
    most_context = max(cases, key=lambda case: case.decode_context_tokens)
    start = {
        "t_floor_s": shortest,
        "c_tok_s_per_token": 0.8 * largest.time_s / largest.tokens,
        "smooth_max_p": 2.0,
        "a_pair_s": 0.5 * most_pairs.time_s / most_pairs.pairs,
        "c_kv_s_per_token": 0.5 * most_context.time_s / most_context.decode_context_tokens,
        "c_seq_s": 0.01 * shortest,
        "c_pf_s": 0.1 * shortest,
    }
    if any(map(_KINDS["steps of both"], cases)):
        start["c_mixed_s_per_token"] = 0.1 * start["c_kv_s_per_token"]
    return start


def _step_s(law: StepLaw, case: ForwardCase) -> float:
    return law.step_s(case.prefill, case.decode_batch, case.decode_context_tokens)


def _errors(law: StepLaw, cases: Sequence[ForwardCase]) -> list[float]:
    return [abs(_step_s(law, case) / case.time_s - 1) for case in cases]


def _mean(errors: Sequence[float]) -> float:
    return added(errors) / len(errors)


def _held_out(kind: str, errors: Sequence[float]) -> HeldOut:
    return HeldOut(
        quantity=f"{kind}, one case in {_HELD_OUT}",
        n=len(errors),
        mape=rounded(_mean(errors)),
        median=rounded(median(errors)),
        largest=rounded(max(errors)),
    )
