"""What was found of one run as plain numbers and texts, ready for JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sim.measured.run import MeasuredRun
from sim.validation.differences import EngineDifference
from sim.validation.predictions.fit import Fitted
from sim.validation.predictions.full_simulation import Timed
from sim.validation.predictions.quantities import LABELS, error
from sim.validation.predictions.repeats import Repeats
from sim.validation.predictions.replayed_routing import Forced
from sim.validation.predictions.simulated_routing import Free, Prediction
from sim.validation.refused import Refused
from sim.validation.router_log.log_diff import LogDiff
from sim.validation.router_log.mismatches import Difference, Mismatch


def forced_json(found: Forced) -> dict[str, Any]:
    """Return forced routing: numbers by name, agreement request by request, choices, blocks held."""
    return {
        "numbers": {name: _numbers(found, name) for name in LABELS},
        "agreement": asdict(found.agreement),
        "choices": {stage: asdict(choices) for stage, choices in found.choices.items()},
        "held_blocks": [asdict(worker) for worker in found.held_blocks],
        "refused": refused_json(found.refused),
    }


def _numbers(found: Forced, name: str) -> Mapping[str, Any]:
    measured, predicted = found.measured[name], found.predicted[name]
    baseline = found.baseline.get(name)
    return {
        "measured": measured,
        "predicted": predicted,
        "error": None if found.refused else _error(measured, predicted),
        "baseline": baseline,
        "baseline_error": None if found.refused else _error(measured, baseline),
    }


def refused_json(found: Refused) -> dict[str, Any]:
    """Return requests that were measured and not served here: how many of how many, why, and which."""
    return {"requests": len(found.rows), **asdict(found), "rows": list(found.rows)}


def differences_json(found: Sequence[EngineDifference]) -> list[dict[str, Any]]:
    """Return in what the scenario's engines are not the recorded ones."""
    return [{**asdict(one), "text": str(one)} for one in found]


def free_json(found: Free) -> dict[str, Any]:
    """Return free routing: predictions by name."""
    return {
        "seeds": found.seeds,
        "spread": found.spread,
        "refused": refused_json(found.refused),
        "predictions": {name: _prediction(one) for name, one in found.predictions.items()},
    }


def timed_json(found: Timed, fitted: Fitted | None) -> dict[str, Any]:
    """Return the free run: predictions by name, and the law of its step times."""
    return {
        "seeds": found.seeds,
        "law": found.law,
        "law_drawn": found.drawn,
        "refused": refused_json(found.refused),
        "fitted": fitted_json(fitted) if fitted else None,
        "predictions": {name: _prediction(one) for name, one in found.predictions.items()},
    }


def fitted_json(found: Fitted) -> dict[str, Any]:
    """Return a fitted law: coefficients in SI units with 95 % intervals, and the runs behind it."""
    return {
        "runs": list(found.runs),
        "coefficients": {
            name: {"value": value, "low": low, "high": high}
            for name, (value, low, high) in found.coefficients.items()
        },
        "mean_error": found.mean_error,
    }


def repeats_json(found: Repeats) -> dict[str, Any]:
    """Return runs that repeat each other, and over what each number that they measured ranges."""
    return {
        "runs": list(found.runs),
        "numbers": {
            name: {"values": list(values), "low": min(values), "high": max(values)}
            for name, values in found.numbers.items()
        },
    }


def _prediction(found: Prediction) -> dict[str, Any]:
    """Return a prediction with the signed error of its mean."""
    return {
        **asdict(found),
        "inside": found.inside,
        "error": _error(found.measured, found.mean) if found.compared else None,
    }


def _error(measured: float | None, predicted: float | None) -> dict[str, Any] | None:
    found = error(measured, predicted)
    return asdict(found) if found else None


def log_json(found: LogDiff, run: MeasuredRun) -> dict[str, Any]:
    """Return a router's log computed again: the formula, and the books of each stage with all mismatches."""
    return {
        "formula": asdict(found.formula),
        "refused": refused_json(found.refused),
        "books": [
            {
                "leg": books.stage,
                "overlap": books.overlap,
                "choices": books.choices,
                "equal": books.equal,
                "cheapest": books.cheapest,
                "by_term": books.by_term,
                "partings": [_mismatch(run, mismatch) for mismatch in books.mismatches],
            }
            for books in found.books
        ],
    }


def _mismatch(run: MeasuredRun, mismatch: Mismatch) -> dict[str, Any]:
    choice = mismatch.choice
    return {
        "row": choice.request.row,
        "session": choice.request.session,
        "time_s": choice.time_s,
        "differences": [_difference(run, difference) for difference in mismatch.differences],
    }


def _difference(run: MeasuredRun, difference: Difference) -> dict[str, Any]:
    worker = run.worker(difference.rank[0])
    return {
        "worker": worker.name if worker else str(difference.rank[0]),
        "term": difference.term,
        "logged": difference.logged,
        "rebuilt": difference.rebuilt,
        "nearest": asdict(difference.nearest) if difference.nearest else None,
    }
