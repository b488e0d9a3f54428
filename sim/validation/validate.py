"""Validates runs: everything that was asked for as one object, ready for JSON."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal

from sim.base.errors import InputError
from sim.measured.mirror.toml import still_examples
from sim.measured.run import load_run
from sim.simulation.versions import versions_of
from sim.validation.as_json import (
    differences_json,
    forced_json,
    free_json,
    log_json,
    repeats_json,
    timed_json,
)
from sim.validation.case import ValidationCase
from sim.validation.differences import EngineDifference, differences, refuse
from sim.validation.predictions.fit import Fitted, fit
from sim.validation.predictions.full_simulation import full_simulation, measured_of
from sim.validation.predictions.quantities import Numbers
from sim.validation.predictions.repeats import kind_of, repeats
from sim.validation.predictions.replayed_routing import replayed_routing
from sim.validation.predictions.simulated_routing import simulated_routing
from sim.validation.replay.settings import scenario_of
from sim.validation.router_log.log_diff import diff_router_log

Step = Literal["forced", "free", "timed", "all"]
SCHEMA_VERSION = 1
_NO_COSTS = (
    "no costs in a router's log, nothing to compute again: it needs the lines that start with Formula "
    "(DYN_LOG=info,dynamo_kv_router::scheduling::selector=debug); round robin and its like log none"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to do with each run."""

    step: Step | None = "all"
    """Recorded workers, workers that the router chooses, both of them ("all"), everything simulated; or
    nothing of that."""
    diff: bool = False
    """Whether to compute the costs of the router's log again."""
    seeds: int = 100
    """Of what chance decides."""
    spread: float | None = None
    """Of recorded durations from seed to seed; None: they are drawn (`predictions.simulated_routing`)."""
    fit_to: Sequence[Path] = ()
    """Runs to fit the step-time law to, for "timed"; none: the scenario's law."""
    allow_differences: bool = False
    """Whether engines that are not the recorded ones are compared with them all the same."""
    on_seed: Callable[[], None] = field(default=lambda: None)
    """Called whenever a seed is done."""


def validate(
    folders: Sequence[Path], scenario: str, overrides: Sequence[str] = (), wanted: Wanted | None = None
) -> list[dict[str, Any]]:
    """Return what the simulator predicts of the runs in these folders, beside what was measured.

    Args:
        folders: a run each.
        scenario: a file, or the name of a shipped scenario, of the cluster that was measured.
        overrides: `key=value`, win over what a run tells of itself.
        wanted: what to do.

    Raises:
        InputError: a file that cannot be used, or a run and a scenario that do not go together.

    """
    wanted = wanted or Wanted()
    _check(folders, wanted)
    fitted = _fitted(wanted, scenario, overrides)
    fitted_to = {folder.resolve() for folder in wanted.fit_to}
    contents: list[dict[str, Any]] = []
    measured: list[tuple[str, Hashable, Numbers]] = []
    for folder in folders:
        case, settings, differing = _case(folder, scenario, overrides, wanted)
        found = _validated(case, wanted, fitted)
        about: dict[str, Any] = {"settings": settings, "fitted_to": folder.resolve() in fitted_to}
        if wanted.step == "timed" and not fitted and (examples := _examples(case, scenario, overrides)):
            about["examples"] = examples
        contents.append({**found, **about, "differences": differences_json(differing)})
        measured.append((case.run.title, kind_of(case.run, settings), measured_of(case)))
    for content, together in zip(contents, repeats(measured), strict=True):
        content["repeats"] = repeats_json(together) if together else None
    return contents


def _check(folders: Sequence[Path], wanted: Wanted) -> None:
    for option, given in (("--measured", folders), ("--fit", wanted.fit_to)):
        for place, folder in enumerate(given):
            if folder.resolve() in [other.resolve() for other in given[:place]]:
                raise InputError(f"{option} {folder}: is given twice")
    if wanted.fit_to and wanted.step != "timed":
        raise InputError("--fit: only --step timed uses step times")
    if wanted.spread is not None:
        if wanted.step not in ("free", "all"):
            raise InputError(f"--spread {wanted.spread:g}: only --step free and all use it")
        if not 0 <= wanted.spread < inf:
            raise InputError(f"--spread {wanted.spread:g}: must be a finite number, 0 or more")


def _case(
    folder: Path, scenario: str, overrides: Sequence[str], wanted: Wanted
) -> tuple[ValidationCase, str, list[EngineDifference]]:
    """Return a run with its scenario, a sentence of what it told of that, and in what they differ."""
    run = load_run(folder)
    laid = scenario_of(run, scenario, overrides)
    found = differences(run, laid.scenario, laid.told)
    if not wanted.allow_differences:
        refuse(run, found, overrides)
    return ValidationCase(run, laid.scenario), laid.settings, found


def _fitted(wanted: Wanted, scenario: str, overrides: Sequence[str]) -> Fitted | None:
    cases = [_case(folder, scenario, overrides, wanted)[0] for folder in wanted.fit_to]
    return fit(cases) if cases else None


def _examples(case: ValidationCase, scenario: str, overrides: Sequence[str]) -> str:
    """Return what is to be said where times are simulated of a GPU or a model that is an example."""
    path, timing = Path(scenario), case.scenario.timing
    if not path.is_file() or timing.preset or timing.coefficients:
        return ""
    given = {override.partition("=")[0].strip() for override in overrides}
    open_keys = [key for key in still_examples(path) if key not in given]
    if not open_keys:
        return ""
    return (
        f"{path} has no source for {' and '.join(open_keys)}, so latencies are another machine's; set the "
        "cluster's own, or fit the times to another run of it (--fit)"
    )


def _validated(case: ValidationCase, wanted: Wanted, fitted: Fitted | None) -> dict[str, Any]:
    run, step, seeds, on_seed = case.run, wanted.step, wanted.seeds, wanted.on_seed
    by_force = replayed_routing(case) if step in ("forced", "all") else None
    freely = simulated_routing(case, seeds, wanted.spread, on_seed) if step in ("free", "all") else None
    simulated = full_simulation(case, seeds, fitted, on_seed) if step == "timed" else None
    again = diff_router_log(case) if wanted.diff else None
    parts = (by_force, freely, simulated, again)
    notes = [*run.notes, *(note for found in parts if found for note in found.notes)]
    if wanted.diff and again is None:
        notes.append(_NO_COSTS)
    return {
        "schema_version": SCHEMA_VERSION,
        "title": run.title,
        "versions": versions_of(case.scenario),
        "forced": forced_json(by_force) if by_force else None,
        "free": free_json(freely) if freely else None,
        "timed": timed_json(simulated, fitted) if simulated else None,
        "router_log": log_json(again, run) if again else None,
        "notes": [*dict.fromkeys(notes)],
    }
