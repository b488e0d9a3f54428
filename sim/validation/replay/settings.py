"""The scenario of one run: what its own files tell is laid over the scenario that is given."""

from collections.abc import Sequence
from typing import NamedTuple

import tomlkit

from sim.base.errors import InputError
from sim.measured.mirror.cluster import MirroredCluster, mirror
from sim.measured.mirror.found import Found
from sim.measured.run import MeasuredRun
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario

TOLD = ("router.", "workers.", "engine.kv_blocks", "disaggregation.decode_kv_blocks", "offload.kv_events")
"""Settings in which runs of one cluster differ; everything else is the scenario's."""
_ORDER = ("workers", "engine", "disaggregation", "offload", "router")


class LaidOver(NamedTuple):
    """The scenario for a run."""

    scenario: Scenario
    settings: str
    """A sentence of which settings the run told."""
    told: Found
    """All that the run's files tell of a scenario."""


def scenario_of(run: MeasuredRun, name: str, overrides: Sequence[str]) -> LaidOver:
    """Return the scenario for a run, with what the run told.

    The overrides come last: they win over what the run tells.

    Raises:
        InputError: as `load_scenario`; also where the run contradicts the scenario's layout.

    """
    given = {override.partition("=")[0].strip() for override in overrides}
    found = mirror(MirroredCluster(run))
    told = {
        ".".join(path): setting
        for path, setting in found.settings.items()
        if ".".join(path).startswith(TOLD) and ".".join(path) not in given
    }
    in_order = sorted(told, key=lambda key: _ORDER.index(key.partition(".")[0]))
    texts = {key: tomlkit.item(told[key].value).as_string() for key in in_order}
    listed = ", ".join(f"{key} = {text}" for key, text in texts.items()) or "nothing"
    load_scenario(name, overrides)
    try:
        scenario = load_scenario(name, [*(f"{key}={text}" for key, text in texts.items()), *overrides])
    except InputError as error:
        raise InputError(f"{run.folder.path}: tells {listed}; laid over the scenario: {error}") from error
    return LaidOver(scenario, f"as the run's own files tell: {listed}", found)
