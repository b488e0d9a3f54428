"""Validates one run: forced and free routing as one object, ready for JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from sim.measured.run import load_run
from sim.validation.forced import Forced, forced
from sim.validation.free import Free, free
from sim.validation.quantities import LABELS, error
from sim.validation.settings import scenario_of

Step = Literal["forced", "free", "all"]
SCHEMA_VERSION = 1


def validate(
    folder: Path,
    scenario: str,
    overrides: Sequence[str] = (),
    *,
    step: Step = "all",
    seeds: int = 100,
    spread: float | None = None,
    on_seed: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return what the simulator predicts of the run in a folder, beside what was measured.

    Args:
        folder: the files of the run.
        scenario: a file, or the name of a shipped scenario, of the cluster that was measured.
        overrides: `key=value`, win over what the run tells of itself.
        step: which routing: the recorded one, the simulated router's, or both.
        seeds: of free routing.
        spread: of recorded durations from seed to seed, which else are drawn: see `sim.validation.free`.
        on_seed: called whenever a seed is done.

    Raises:
        InputError: a file that cannot be used, or a run and a scenario that do not go together.

    """
    run = load_run(folder)
    settings, told = scenario_of(run, scenario, overrides)
    by_force = forced(run, settings) if step != "free" else None
    freely = free(run, settings, seeds, spread, on_seed) if step != "forced" else None
    notes = [*run.notes, *(found.notes if (found := by_force or freely) else ())]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": run.title,
        "settings": told,
        "forced": _forced(by_force) if by_force else None,
        "free": _free(freely) if freely else None,
        "notes": notes,
    }


def _forced(found: Forced) -> dict[str, Any]:
    return {
        "numbers": {name: _numbers(found, name) for name in LABELS},
        "agreement": asdict(found.agreement),
        "choices": {leg: asdict(choices) for leg, choices in found.choices.items()},
        "held_blocks": [asdict(worker) for worker in found.held_blocks],
    }


def _numbers(found: Forced, name: str) -> Mapping[str, Any]:
    measured, predicted = found.measured[name], found.predicted[name]
    baseline = found.baseline.get(name)
    errors = error(measured, predicted), error(measured, baseline)
    return {
        "measured": measured,
        "predicted": predicted,
        "error": asdict(errors[0]) if errors[0] else None,
        "baseline": baseline,
        "baseline_error": asdict(errors[1]) if errors[1] else None,
    }


def _free(found: Free) -> dict[str, Any]:
    return {
        "seeds": found.seeds,
        "spread": found.spread,
        "predictions": {
            name: {**asdict(prediction), "inside": prediction.inside}
            for name, prediction in found.predictions.items()
        },
    }
