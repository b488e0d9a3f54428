"""What a name or a path stands for: a scenario, or results that were saved."""

from pathlib import Path

from sim.base.errors import InputError
from sim.experiments.comparison import Comparison, to_show
from sim.runs.saved import COMPARISON, SCENARIO, SUMMARY, SWEEP, is_folder, read_comparison
from sim.scenario.load import load_scenario
from sim.scenario.overrides import Overrides
from sim.scenario.scenario import Scenario
from sim.simulation.result import RunResult


def load(source: str | Path, overrides: Overrides = ()) -> Scenario | RunResult | Comparison:
    """Return what a name or a path stands for, by the rule that `sim compare` has.

    A folder is what was saved there: a run (`RunResult`), a comparison or the seeds of a repeated run
    (`Comparison`), or a sweep (`Sweep`, which is a comparison). Anything else is a scenario: a TOML file, or
    the name of a shipped one. Where a name is both, it is the scenario; "./agg8" is the folder.

    Args:
        source: the name or path.
        overrides: what to change in a scenario: `["workload.sessions=28"]` or `{"workload.sessions": 28}`.

    Raises:
        InputError: there is no such scenario, its settings are wrong, or the folder holds no results.

    """
    if not isinstance(source, str | Path) or not is_folder(source):
        return load_scenario(source, overrides)
    if overrides:
        raise InputError(f"{source}: ran already; overrides are for scenarios")
    folder = Path(source)
    return RunResult.load(folder) if (folder / SCENARIO).is_file() else to_show(read_comparison(folder))


def load_run(folder: Path) -> RunResult:
    """Return the one run that a folder holds.

    Raises:
        InputError: it holds none or several, or a file is damaged; names it.

    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    for kind in ("seed", "draw"):
        parts = sorted(folder.glob(f"{kind}-*"))
        if parts:
            raise InputError(f"{folder}: holds {len(parts)} {kind}s; give one of them, such as {parts[0]}")
    for file, what in ((COMPARISON, "comparison"), (SWEEP, "sweep")):
        if (folder / file).is_file():
            raise InputError(f"{folder}: holds a {what}; give a folder of one run, of `sim run --out`")
    if not (folder / SUMMARY).is_file():
        raise InputError(f"{folder}: holds no run: no {SUMMARY}; give a folder that `sim run --out` made")
    return RunResult.load(folder)
