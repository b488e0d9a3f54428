"""One scenario at many points, on a grid or sampled, with the same seeds at each; what finished is kept.

source, --set, seeds -> jobs -> execute, with a journal -> sim.results.swept.Sweep
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sim.errors import InputError
from sim.jobs.engine import Engine, local
from sim.jobs.execute import OnRun, execute
from sim.jobs.fingerprint import fingerprint
from sim.jobs.job import Job, jobs_at
from sim.points import combinations, read_axes
from sim.results.compared import Run
from sim.results.journal import journal_in
from sim.results.saved import write_sweep
from sim.results.swept import Sweep
from sim.scenario import load_scenario, scenario_schema
from sim.spaces import read_space, sobol_points


def sweep(
    source: str | Path,
    overrides: Sequence[str] = (),
    *,
    repeat: int = 1,
    sample: int | None = None,
    out: Path | None = None,
    jobs: int | None = None,
) -> Sweep:
    """Run a scenario at many points.

    Args:
        source: a TOML file, or the name of a shipped scenario.
        overrides: `key=value`; lists `a,b,c` and ranges `start:stop:step` make points, see `plan`.
        repeat: seeds at each point, from the scenario's own on.
        sample: take so many points of the ranges, in place of a grid.
        out: a folder that keeps every run as it ends; what it has from an earlier call is not run again.
        jobs: runs at a time, as many as there are cores if absent.

    Raises:
        InputError: the scenario, an override or the folder cannot be used.

    """
    return execute_plan(plan(source, overrides, repeat, sample), local(jobs), _nothing, out)


class Plan(NamedTuple):
    """What a sweep is made of."""

    jobs: list[Job]
    """Points slowest, then seeds."""
    sampled: list[str]
    """The keys whose values are drawn from a range."""


def plan(source: str | Path, overrides: Sequence[str], repeat: int = 1, sample: int | None = None) -> Plan:
    """Return the runs of a sweep.

    With `sample`, ranges are `low:high`, `low:high:step` or `low:high:log`, and each combination of the lists
    has so many points of a scrambled Sobol sequence, drawn with the scenario's seed.

    Raises:
        InputError: the scenario or an override cannot be used.

    """
    sources = {Path(source).stem if str(source).endswith(".toml") else str(source): str(source)}
    if sample is None:
        fixed, axes = read_axes(overrides)
        return Plan(jobs_at(sources, fixed, combinations(axes), repeat), [])
    schema = scenario_schema()
    read = {text: read_space(text, schema, "--set") for text in overrides}
    spaces = [space for space in read.values() if space is not None]
    if not spaces:
        raise InputError("--sample: there is no range to sample; give one with --set key=low:high")
    fixed, axes = read_axes([text for text, space in read.items() if space is None])
    seed = load_scenario(source, fixed).seed
    points = sobol_points(spaces, sample, seed, axes)
    return Plan(jobs_at(sources, fixed, points, repeat), [space.key for space in spaces])


def execute_plan(plan: Plan, engine: Engine, on_run: OnRun, out: Path | None = None) -> Sweep:
    """Make the runs of a sweep that `out` does not have, and write its table there if any ended well.

    Raises:
        InputError: the folder cannot be used.

    """
    jobs = plan.jobs
    with journal_in(out) as journal:
        result = Sweep(jobs[0].name, execute(jobs, engine, on_run, journal), plan.sampled)
        if out is not None and len(result.failed) < len(jobs):
            write_sweep(result, [fingerprint(job.scenario) for job in jobs], out)
    return result


def _nothing(_: Run) -> None:
    """Nobody watches."""
