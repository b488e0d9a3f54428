"""What a fit to the talk leaves behind: a file of coefficients in the format of `calibration/`."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.coefficient_file import Coefficient, CoefficientFile
from sim.errors import InputError
from sim.scenario import Scenario
from sim.talk.fit import Fit
from sim.talk.targets import TargetFile
from sim.workload.load import load_workload

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12))


def content(
    fit: Fit, prior: CoefficientFile, prior_name: str, targets: TargetFile, workloads: Sequence[Scenario]
) -> dict[str, Any]:
    """Return the file's content: the fit's coefficients, and the others as the prior has them.

    Args:
        fit: what was found.
        prior: the file that it started from.
        prior_name: what that is called.
        targets: the rows.
        workloads: a scenario of each seed with the most sessions: whose requests the fit saw.

    """
    rows = [row.target.id for row in fit.best.rows]
    fitted_to = f"{len(rows)} rows of the talk on one node ({', '.join(rows)})"
    data = [_of_targets(targets, len(rows)), *map(_of_workload, workloads)]
    entries = {name: _entry(name, prior.entries[name], fit, prior_name) for name in prior.entries}
    return {
        "model": prior.model,
        "gpu": prior.gpu,
        "origin": "fitted",
        "summary": f"fitted to {fitted_to}, with {prior_name} as prior",
        "data": data,
        "step": {name: entries[name] for name in prior.step},
        "frontend": {name: entries[name] for name in prior.frontend},
    }


def write(found: dict[str, Any], path: Path, command: str) -> None:
    """Write the file, with the command that makes it on top.

    Raises:
        InputError: it cannot be written.

    """
    import tomlkit  # noqa: PLC0415 - only needed to write

    CoefficientFile.model_validate(found)
    head = (
        f"# Made by `{command}`. README.md says what each coefficient multiplies, and how good this is.\n\n"
    )
    try:
        path.write_text(head + tomlkit.dumps(found), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}") from error


def written(seconds: float) -> str:
    """Return a time to four digits with the unit that suits it: "562.5ps"."""
    unit, scale = next((row for row in _UNITS if abs(seconds) >= 0.9995 * row[1]), _UNITS[-1])
    return f"{seconds / scale:.4g}{unit}"


def _entry(name: str, known: Coefficient, fit: Fit, prior_name: str) -> dict[str, Any]:
    plain = name == "smooth_max_p"  # a number without a unit
    shown = str if plain else written
    entry: dict[str, Any] = {
        "value": known.value if plain else shown(known.value),
        "range": [end if plain else shown(end) for end in known.range],
    }
    if name in fit.values:
        entry["value"] = shown(fit.values[name])
        entry["sigma"] = shown(fit.sigmas[name])
        entry["source"] = f"fitted to the talk; {prior_name} has {shown(known.value)}"
        return entry
    if known.sigma is not None:
        entry["sigma"] = known.sigma if plain else shown(known.sigma)
    return {**entry, "source": known.source}


def _of_targets(targets: TargetFile, rows: int) -> dict[str, Any]:
    digest = hashlib.sha256(targets.path.read_bytes()).hexdigest()
    return {"file": targets.path.name, "sha256": digest, "rows": rows}


def _of_workload(scenario: Scenario) -> dict[str, Any]:
    trace = load_workload(scenario.workload, scenario.seed, Path())
    digest = hashlib.sha256()
    for request in trace.requests:
        digest.update(repr((request.session, request.timestamp_s, request.output_tokens)).encode())
        digest.update(repr([*request.chunks]).encode())
    name = f"{trace.source}, {scenario.workload.sessions} sessions, seed {scenario.seed}"
    return {"file": name, "sha256": digest.hexdigest(), "rows": len(trace.requests)}
