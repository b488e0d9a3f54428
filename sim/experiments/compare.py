"""Runs several scenarios at the same points with the same seeds, in parallel processes; reads saved ones.

sources, --set, seeds -> plan -> jobs, saved runs -> execute -> sim.experiments.comparison.Comparison
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim.base.errors import InputError
from sim.base.progress import count_bar
from sim.base.shipped import short_name
from sim.experiments.bounds import BoundJob, bound_jobs, with_bounds
from sim.experiments.comparison import Comparison
from sim.experiments.jobs.counts import check_counts
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.execute import OnRun, warned
from sim.experiments.jobs.execute import execute as execute_jobs
from sim.experiments.jobs.job import Job, jobs_at
from sim.experiments.policies import asked_policies, check_overrides, under_policies
from sim.experiments.rule_runs import RuleJob, check_explained, rule_jobs, version_axis, with_rules
from sim.runs.run import Run
from sim.runs.saved import is_folder, read_runs
from sim.scenario.load import load_scenario
from sim.scenario.overrides import Overrides, as_texts
from sim.scenario.points import combinations, read_axes
from sim.scenario.scenario import Scenario
from sim.simulation.result import RunResult

Source = str | Path | Scenario | RunResult | Comparison | Sequence[RunResult]
"""What takes part: a scenario (its name, its file, or loaded), or what ran already (a folder, or results)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison is made of."""

    names: list[str]
    """The scenarios, the one first that the others are compared with."""
    saved: list[Run]
    """Runs that were read."""
    jobs: list[Job]
    """Runs to make."""
    bounds: list[BoundJob]
    """Further runs to make, if bounds are asked for."""
    rules: list[RuleJob]
    """Further runs to make, if it is to be explained what moved numbers from one release to another."""

    @property
    def n_runs(self) -> int:
        """How many runs there are to make."""
        return len(self.jobs) + len(self.bounds) + sum(rule.job is not None for rule in self.rules)


def compare(
    *sources: Source | Mapping[str, Source],
    overrides: Overrides = (),
    repeat: int | None = None,
    draws: int | None = None,
    jobs: int | None = None,
    policies: str | Sequence[str] | None = None,
    bounds: bool = False,
    explain_versions: bool = False,
) -> Comparison:
    """Run scenarios with the same seeds, or take what ran already, and put them side by side.

    Args:
        sources: names of shipped scenarios, TOML files, scenarios, results of `run` (a list of them: one
            scenario's seeds), other comparisons, or folders of either. The first is what the others are
            compared with. A mapping gives each one the name of its key: `{"default": "agg8", "mine": mine}`.
        overrides: what to change in all scenarios: `{"workload.sessions": [12, 20]}`. A list, or a text such
            as `"12:28:8"`, makes points: every combination is run.
        repeat: seeds, from the first scenario's own on, the same for all; one if not given. Intervals take
            three or more.
        draws: draws of the coefficients over their ranges, each with every seed: numbers have bands then. The
            coefficients' values if not given.
        jobs: runs at a time, in processes; as many as there are cores if not given.
        policies: routing policies, `["kv", "round-robin"]`, or "all": each scenario is run under every one,
            and called by the policy's name; of several scenarios "agg8/kv". The first is what the others are
            compared with.
        bounds: whether to run every scenario under round robin and the oracle too, for what these would hit
            (`sim.results.bounds`).
        explain_versions: whether to find which rule of vLLM moved each number from the first of the values of
            `engine.version` to the others; without such values, from the scenario's own release to each other
            one. Every rule that can act takes two runs more: the first release with it, the other without.
            `Comparison.moved_by` has what came of it.

    Raises:
        InputError: a source or an override cannot be used, or no run came to its end. Where only some did
            not, a warning says why.

    """
    named: dict[str, Source] | list[Source]
    if len(sources) == 1 and isinstance(sources[0], Mapping):
        named = {str(name): source for name, source in sources[0].items()}
    else:
        named = [source for source in sources if not isinstance(source, Mapping)]
    if len(named) == 0 or any(isinstance(source, Mapping) for source in sources[1:]):
        raise InputError("compare: give scenarios or results, or one mapping of them by name")
    check_counts(repeat=repeat, draws=draws, jobs=jobs)
    texts = as_texts(overrides, points=True)
    made = plan(named, texts, repeat, draws, policies, bounds=bounds, explain_versions=explain_versions)
    with count_bar("comparing", made.n_runs) as on_one_more:
        comparison = execute(made, jobs, lambda _: on_one_more())
    return warned(comparison)


def plan(
    given: Sequence[Source] | Mapping[str, Source],
    overrides: Sequence[str] = (),
    repeat: int | None = None,
    draws: int | None = None,
    policies: str | Sequence[str] | None = None,
    *,
    bounds: bool = False,
    explain_versions: bool = False,
) -> Plan:
    """Return what is to be run, and read what has been.

    Args:
        given: scenarios and results, perhaps by the names that they are to have.
        overrides: `key=value` for all scenarios; lists and ranges make points (`sim.scenario.points`).
        repeat: seeds, from the first scenario's own on, the same for all; one if not given.
        draws: draws of the coefficients over their ranges, from the first on, each with every seed; their
            values if not given.
        policies: under which to run every scenario; its own if not given.
        bounds: whether to run each under the policies that bound it as well.
        explain_versions: whether to run each with single rules of another release of vLLM as well.

    Raises:
        InputError: a source or an override cannot be used, or a policy has no such name.

    """
    chosen = [] if policies is None else asked_policies(policies)
    if chosen:
        check_overrides(overrides)
    named = dict(given) if isinstance(given, Mapping) else _named(given)
    ran = {name: source for name, source in named.items() if _ran(source)}
    scenarios = {
        name: source
        for name, source in named.items()
        if name not in ran and isinstance(source, str | Path | Scenario)
    }
    options = {
        "--set": overrides,
        "--repeat": repeat,
        "--draws": draws,
        "--policies": chosen,
        "--bounds": bounds,
        "--explain-versions": explain_versions,
    }
    option = next((name for name, value in options.items() if value), None)
    if not scenarios and option is not None:
        raise InputError(
            f"{option}: {', '.join(map(_told, ran.values()))} ran already; give a scenario to run"
        )
    if explain_versions:
        check_explained(draws=draws, ran=[*map(_told, ran.values())])
    saved = {name: _runs(source, name) for name, source in ran.items()}
    _keep_apart(named, saved)
    routed = under_policies([*scenarios], chosen) if chosen else {name: (name, []) for name in scenarios}
    order = dict.fromkeys(
        column
        for name in named
        for column in [run.scenario for run in saved.get(name, [])]
        or [made for made, (scenario, _) in routed.items() if scenario == name]
    )
    runs = [run for found in saved.values() for run in found]
    fixed, axes = read_axes(overrides)
    sources = {name: scenarios[scenario] for name, (scenario, _) in routed.items()}
    own = {name: changes for name, (_, changes) in routed.items()}
    if explain_versions:
        axes = version_axis(axes, [load_scenario(source, fixed) for source in sources.values()])
    jobs = jobs_at(sources, fixed, combinations(axes), repeat or 1, draws, own=own) if sources else []
    rules = rule_jobs(jobs) if explain_versions else []
    return Plan(list(order), runs, jobs, bound_jobs(jobs) if bounds else [], rules)


def execute(plan: Plan, processes: int | None, on_run: OnRun) -> Comparison:
    """Make all runs. One that fails becomes a run with an error; the others go on.

    Args:
        plan: what to run.
        processes: runs at a time, as many as there are cores if None; 1: in this process.
        on_run: called with every run as it ends, those for bounds among them; what it raises ends the others.

    """
    jobs, asked = plan.jobs, plan.bounds
    switched = [rule.job for rule in plan.rules if rule.job is not None]
    found = execute_jobs([*jobs, *(bound.job for bound in asked), *switched], local(processes), on_run)
    made, bounds, rules = (
        found[: len(jobs)],
        found[len(jobs) :][: len(asked)],
        found[len(jobs) + len(asked) :],
    )
    explained = with_rules(made, plan.rules, rules)
    if asked:
        made = with_bounds(jobs, made, asked, bounds)
    runs = [*made, *explained, *plan.saved]
    return Comparison(plan.names, sorted(runs, key=lambda run: plan.names.index(run.scenario)))


def _ran(source: Source) -> bool:
    return is_folder(source) if isinstance(source, str | Path) else not isinstance(source, Scenario)


def _runs(source: Source, name: str) -> list[Run]:
    """Return the runs of what ran already."""
    if isinstance(source, Comparison):
        return list(source.runs)
    if isinstance(source, str | Path):
        return read_runs(Path(source), name)
    results = source if isinstance(source, Sequence) else [source]
    if not results or not all(isinstance(result, RunResult) for result in results):
        raise InputError(f"{name}: give a scenario, a folder, or results of run")
    return [
        Run(
            name,
            result.scenario.to_dict(),
            {},
            result.scenario.seed,
            result.to_dict(),
            result.notes,
            draw=result.scenario.timing.draw,
        )
        for result in results
        if isinstance(result, RunResult)
    ]


def _told(source: Source) -> str:
    """Return what to call a source where nobody has named it."""
    if isinstance(source, str | Path):
        return str(source)
    if isinstance(source, Comparison):
        return ", ".join(source.scenarios)
    if isinstance(source, Scenario):
        return source.title
    if isinstance(source, Sequence) and source:
        return _told(source[0])
    return source.name if isinstance(source, RunResult) else repr(source)


def _named(sources: Sequence[Source]) -> dict[str, Source]:
    """Return the sources by what the comparison calls each: the last part of a path where that is enough."""
    told = [_told(source) for source in sources]
    for name in told:
        if told.count(name) > 1:
            raise InputError(f"{name}: is given twice")
    short = [
        short_name(source) if isinstance(source, str | Path) else name
        for source, name in zip(sources, told, strict=True)
    ]
    names = [
        name if name and short.count(name) == 1 else long for name, long in zip(short, told, strict=True)
    ]
    return dict(zip(names, sources, strict=True))


def _keep_apart(names: Iterable[str], saved: dict[str, list[Run]]) -> None:
    """Put a folder's name before each scenario of a saved comparison that another source has too."""
    scenarios = Counter(
        scenario for name in names for scenario in {run.scenario for run in saved.get(name, [])} or {name}
    )
    for name, runs in saved.items():
        saved[name] = [
            replace(run, scenario=f"{name}/{run.scenario}")
            if scenarios[run.scenario] > 1 and run.scenario != name
            else run
            for run in runs
        ]
