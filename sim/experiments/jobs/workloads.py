"""What the runs of a process send: read or made once for all that send the same."""

from pathlib import Path
from typing import Final

from sim.scenario.scenario import Scenario
from sim.workload.load import load_workload
from sim.workload.request import Trace
from sim.workload.settings import WorkloadSettings
from sim.workload.sources import files_at

MOST_REQUESTS: Final = 20_000
"""Of all that are kept; a longer trace is kept alone, until another one is needed."""


class Workloads:
    """Traces by what decides them, those used last; a run changes nothing in one."""

    def __init__(self) -> None:
        self._kept: dict[str, Trace] = {}

    def of(self, scenario: Scenario) -> Trace:
        """Return what a scenario sends; raises as `load_workload` does."""
        key = _key(scenario.workload, scenario.seed)
        trace = self._kept.pop(key, None)
        if trace is None:
            self._make_room(0)
            trace = load_workload(scenario.workload, scenario.seed, Path())
        self._kept[key] = trace
        self._make_room(1)
        return trace

    def _make_room(self, least: int) -> None:
        n_requests = sum(len(trace.requests) for trace in self._kept.values())
        for key in [*self._kept][: len(self._kept) - least]:
            if n_requests <= MOST_REQUESTS:
                return
            n_requests -= len(self._kept.pop(key).requests)


def _key(settings: WorkloadSettings, seed: int) -> str:
    """Return a text that two workloads have in common only if they are the same."""
    from_file = settings.path is not None
    is_drawn = settings.session_set is None and (not from_file or settings.resample)
    files = [(str(file), file.stat()) for file in files_at(settings.paths)] if from_file else []
    content = [(name, status.st_mtime_ns, status.st_size, status.st_ino) for name, status in files]
    return repr((settings.model_dump(), seed if is_drawn else None, content))
