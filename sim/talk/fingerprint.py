"""What a run's numbers depend on, as a short name: settings, coefficients, trace, the simulator's code."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from sim.scenario import Scenario

_LENGTH = 16
_WITHOUT_EFFECT = {"title", "output", "slo"}
_NOT_IN_A_RUN = {"cli.py", "commands", "measured", "talk", "validation"}
"""Parts of the package that no run goes through."""


def of_run(scenario: Scenario) -> str:
    """Return the name of all that decides a run's numbers. Equal names, equal numbers."""
    settings = scenario.model_dump(mode="json", exclude=_WITHOUT_EFFECT)
    settings["workload"].pop("path", None)
    if scenario.workers.count:
        # It means nothing to aggregated workers.
        del settings["disaggregation"]
    times = scenario.coefficients()
    trace = scenario.workload.path
    return _short(
        {
            "code": of_code(),
            "settings": settings,
            "step": times.step.model_dump(mode="json"),
            "frontend": times.frontend.model_dump(mode="json"),
            "trace": None if trace is None else of_file(trace),
        }
    )


@cache
def of_code() -> str:
    """Return the name of the code that runs go through: every module of the package but a few folders."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package)
        if part.parts[0] not in _NOT_IN_A_RUN:
            digest.update(f"{part.as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:_LENGTH]


@cache
def of_file(path: Path) -> str:
    """Return the name of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_LENGTH]


def _short(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
