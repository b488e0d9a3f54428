"""One scenario at many points, on a grid or sampled, with the same seeds at each; what finished is kept.

source, --set, seeds -> jobs -> execute, with a journal -> sim.experiments.comparison.Sweep
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.progress import count_bar
from sim.base.shipped import short_name
from sim.experiments.comparison import Sweep
from sim.experiments.jobs.counts import check_counts, check_runs
from sim.experiments.jobs.engine import Engine, local
from sim.experiments.jobs.execute import OnRun, execute, warned
from sim.experiments.jobs.fingerprint import fingerprint
from sim.experiments.jobs.job import Job, jobs_at
from sim.runs.journal import journal_in
from sim.runs.saved import write_sweep
from sim.scenario.load import load_scenario
from sim.scenario.overrides import Overrides, as_texts
from sim.scenario.points import combinations, read_axes
from sim.scenario.scenario import Scenario, scenario_schema
from sim.scenario.spaces import read_space, sobol_points


def sweep(
    source: str | Path | Scenario,
    overrides: Overrides = (),
    *,
    repeat: int = 1,
    sample: int | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
) -> Sweep:
    """Run a scenario at many points.

    Args:
        source: the name of a shipped scenario, a TOML file, or a scenario that was loaded.
        overrides: what to change: `{"router.overlap_score_credit": [0, 0.5, 1]}`. A list, or a text such as
            `"0:2:0.25"`, makes points: every combination is run; see `plan`.
        repeat: seeds at each point, from the scenario's own on.
        sample: take so many points of the ranges, in place of a grid.
        out: a folder that keeps every run as it ends; what it has from an earlier call is not run again.
        jobs: runs at a time, as many as there are cores if absent.

    Raises:
        InputError: the scenario, an override or the folder cannot be used, or no run came to its end. Where
            only some did not, a warning says why.

    """
    check_counts(jobs=jobs)
    made = plan(source, as_texts(overrides, points=True), repeat, sample)
    with count_bar(made.jobs[0].name, len(made.jobs)) as on_one_more:
        folder = None if out is None else Path(out)
        return warned(execute_plan(made, local(jobs), lambda _: on_one_more(), folder))


class Plan(NamedTuple):
    """What a sweep is made of."""

    jobs: list[Job]
    """Points slowest, then seeds."""
    sampled: list[str]
    """The keys whose values are drawn from a range."""


def plan(
    source: str | Path | Scenario, overrides: Sequence[str], repeat: int = 1, sample: int | None = None
) -> Plan:
    """Return the runs of a sweep.

    With `sample`, ranges are `low:high`, `low:high:step` or `low:high:log`, and each combination of the lists
    has so many points of a scrambled Sobol sequence, drawn with the scenario's seed.

    Raises:
        InputError: the scenario or an override cannot be used.

    """
    sources = {source.title if isinstance(source, Scenario) else short_name(source): source}
    if sample is None:
        fixed, axes = read_axes(overrides)
        return Plan(jobs_at(sources, fixed, combinations(axes), repeat), [])
    check_counts(repeat=repeat, sample=sample)
    check_runs(sample * repeat)
    schema = scenario_schema()
    read = {text: read_space(text, schema, "--set") for text in overrides}
    spaces = [space for space in read.values() if space is not None]
    if not spaces:
        raise InputError("--sample: there is no range to sample; give one with --set key=low:high")
    fixed, axes = read_axes([text for text, space in read.items() if space is None])
    keys = Counter(text.partition("=")[0].strip() for text in overrides)
    for space in spaces:
        if keys[space.key] > 1:
            raise InputError(f"--set {space.key}: is given twice, once with a range; give it once")
    seed = load_scenario(source, fixed).seed
    points = sobol_points(spaces, sample, seed, axes)
    return Plan(jobs_at(sources, fixed, points, repeat), [space.key for space in spaces])


def execute_plan(plan: Plan, engine: Engine, on_run: OnRun, out: Path | None = None) -> Sweep:
    """Make the runs of a sweep that `out` does not have, and write its table there if any ended well.

    Raises:
        InputError: the folder cannot be used.

    """
    jobs = plan.jobs
    with journal_in(out, expected=len(jobs)) as journal:
        result = Sweep(jobs[0].name, execute(jobs, engine, on_run, journal), plan.sampled)
        if out is not None and len(result.failed) < len(jobs):
            write_sweep(result, [fingerprint(job.scenario) for job in jobs], out)
    return result
