"""What decides the result of a run, as a short text: equal fingerprints, equal results."""

from functools import cache
from hashlib import blake2b
from pathlib import Path

from sim.scenario.scenario import Scenario
from sim.workload.sources import files_at

_BYTES = 16
_SOURCES = Path(__file__).parents[2]


def fingerprint(scenario: Scenario) -> str:
    """Return the fingerprint of a run: resolved scenario with its seed, trace, step times, and code."""
    content = scenario.model_dump(mode="json")
    if scenario.workload.path is not None:
        files = files_at(scenario.workload.paths)
        content["workload"]["path"] = [_of_file(file, file.stat().st_mtime_ns) for file in files]
    return _digest(repr((content, scenario.coefficients(), code())).encode())


@cache
def code() -> str:
    """Return the fingerprint of the simulator's sources, wherever they are installed."""
    parts = []
    for file in sorted(_SOURCES.rglob("*.py")):
        name = file.relative_to(_SOURCES)
        # A wheel has the programs of calibration/ beside the data that they made; a checkout has not.
        if name.parts[0] != "_shipped":
            parts += [str(name).encode(), file.read_bytes()]
    return _digest(*parts)


@cache
def _of_file(path: Path, changed_ns: int) -> str:
    return _digest(path.read_bytes())


def _digest(*parts: bytes) -> str:
    found = blake2b(digest_size=_BYTES)
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()
