"""Searches settings of a scenario that make a number best under limits, with Optuna.

Every setting is run with the same seeds, so that what one gains over another is not the workload's. The best
of many is partly luck with those seeds; it is therefore compared with the default on others.

A setting that completes fewer requests than the default does not hold, whatever it gains: latencies are those
of completed requests. Who wants it otherwise says so, with a limit on a number of `requests`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.base.errors import InputError
from sim.base.limits import Limit
from sim.experiments.jobs.counts import check_counts
from sim.experiments.jobs.execute import Runner
from sim.experiments.jobs.job import Job, seeded
from sim.experiments.limits import asked_for, check_limits, check_measured
from sim.results.quantities import check_number, names_before_runs, names_in
from sim.results.refusals import lost
from sim.runs.comparison import Comparison
from sim.runs.cost import Price
from sim.runs.run import Run
from sim.runs.tuning import BEST, DEFAULT, Goal, Trial, Tuned
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario, scenario_schema
from sim.scenario.spaces import Space, read_space

if TYPE_CHECKING:
    import optuna

WEIGHTS = (
    "router.overlap_score_credit=0:2",
    "router.overlap_score_credit_decay=0:2",
    "router.prefill_load_scale=0.25:8:log",
    "router.decode_active_request_weight=0:64",
)
"""What is searched unless a search says otherwise: the weights of the router's cost."""


class Search(NamedTuple):
    """What is searched for, and where."""

    source: str
    """A scenario's file or name."""
    fixed: Sequence[str]
    """`key=value` for every run."""
    spaces: Sequence[Space]
    goal: Goal


def plan(
    source: str,
    objective: str,
    constraints: Sequence[str] = (),
    spaces: Sequence[str] = (),
    fixed: Sequence[str] = (),
    *,
    maximise: bool = False,
) -> Search:
    """Return a search.

    Args:
        source: a TOML file, or the name of a shipped scenario.
        objective: the number of the summary that is to be as low as possible.
        constraints: limits on means, such as `itl_s.p99<0.2`.
        spaces: ranges of keys, `key=low:high`, `key=low:high:step` or `key=low:high:log`; `WEIGHTS` if none.
        fixed: `key=value` for every run.
        maximise: the number is to be as high as possible instead.

    Raises:
        InputError: one of them cannot be used.

    """
    schema = scenario_schema()
    found: list[Space] = []
    for text in spaces or WEIGHTS:
        space = read_space(text, schema, "--space")
        if space is None:
            raise InputError(f"--space {text}: write KEY=LOW:HIGH, such as router.overlap_score_credit=0:2")
        if space.key == "seed":
            raise InputError(f"--space {text}: every setting has the same seeds; --repeat says how many")
        if space.key in (other.key for other in found):
            raise InputError(f"--space {text}: {space.key} is given twice")
        found.append(space)
    limits = tuple(Limit.read(text, "--constraint") for text in constraints)
    goal = Goal(objective, maximise, limits)
    _check_names(goal, names_before_runs())
    load_scenario(source, fixed)
    return Search(source, fixed, found, goal)


def tune(
    search: Search, run: Runner, *, trials: int, repeat: int, check: int, price: str | None = None
) -> Tuned:
    """Search, and compare the best with the default. Equal arguments give equal results.

    Args:
        search: what for.
        run: makes runs.
        trials: settings to try; the default is the first of them if the spaces hold it.
        repeat: seeds of each, from the scenario's own on.
        check: further seeds, for the comparison.
        price: of a GPU hour, such as "2.5" or "2.50 EUR".

    Raises:
        InputError: a number has an unknown name, or the default cannot be run.

    """
    check_counts(trials=trials, repeat=repeat, check=check)
    cost = None if price is None else Price.read(price, "--price-per-gpu-hour")
    base = load_scenario(search.source, search.fixed)
    seeds = range(base.seed, base.seed + repeat)
    study = _study(base, search.spaces, search.goal)
    limits = search.goal.limits
    runs = run(_asked(limits, seeded({DEFAULT: base}, {}, seeds)))
    known = names_in(run.numbers for run in runs)
    if not known:
        raise InputError(runs[0].error)
    _check_names(search.goal, known)
    check_measured(limits, runs, "--constraint")
    default = _judge(search.goal, {}, runs, inf)
    tried: list[Trial] = []
    for _ in range(trials):
        asked = study.ask()
        written = {space.key: space.write(_suggest(asked, space)) for space in search.spaces}
        runs = run(_asked(limits, seeded({BEST: _with(search, written)}, written, seeds)))
        tried.append(_judge(search.goal, written, runs, default.not_completed))
        _tell(study, asked, tried[-1])
    best = min(tried, key=lambda trial: _rank(search.goal, trial))
    fresh = range(seeds.stop, seeds.stop + check)
    sides = {DEFAULT: base, BEST: _with(search, best.written)}
    beside = Comparison([DEFAULT, BEST], run(_asked(limits, seeded(sides, {}, fresh))))
    return Tuned(search.source, search.goal, seeds, default, tried, best, beside, cost)


def _asked(limits: Sequence[Limit], jobs: Sequence[Job]) -> list[Job]:
    """Return jobs whose summaries say what limits and bindings are told from; their settings stay."""
    return [
        replace(job, scenario=load_scenario(job.scenario, asked_for(job.scenario, limits))) for job in jobs
    ]


def _with(search: Search, written: Mapping[str, str]) -> Scenario:
    return load_scenario(
        search.source, [*search.fixed, *(f"{key}={value}" for key, value in written.items())]
    )


def _check_names(goal: Goal, known: Sequence[str]) -> None:
    check_number(goal.metric, known, "--objective")
    check_limits(goal.limits, known, "--constraint")


def _judge(goal: Goal, written: Mapping[str, str], runs: Sequence[Run], default_lost: float) -> Trial:
    """Return what a setting came to, beside the requests of a run that the default does not complete."""
    means = [_mean(runs, limit.metric) for limit in goal.limits]
    margins = [
        None if mean is None else limit.margin(mean) for limit, mean in zip(goal.limits, means, strict=True)
    ]
    found = [lost(run.summary) for run in runs if run.summary is not None]
    not_completed = fsum(found) / len(found) if found else 0.0
    more_lost = 0.0 if goal.weighs_requests else max(0.0, not_completed - default_lost)
    return Trial(written, _mean(runs, goal.metric), tuple(margins), not_completed, more_lost, tuple(means))


def _mean(runs: Sequence[Run], metric: str) -> float | None:
    values = [run.numbers.get(metric) for run in runs]
    measured = [value for value in values if value is not None]
    return fsum(measured) / len(runs) if len(measured) == len(runs) else None


def _rank(goal: Goal, trial: Trial) -> tuple[bool, float, float, float]:
    """Order trials: those that hold by value, others by requests lost, then by how far outside they are."""
    if trial.value is None:
        return True, inf, inf, inf
    outside = fsum(inf if margin is None else max(0.0, -margin) for margin in trial.margins)
    return not trial.holds, trial.more_lost, outside, -trial.value if goal.maximise else trial.value


def _study(base: Scenario, spaces: Sequence[Space], goal: Goal) -> "optuna.Study":
    """Return a study whose first trial is the default, if that lies in the spaces."""
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("sim tune: Optuna is not installed; pip install 'optuna>=5'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if goal.maximise else "minimize",
        sampler=optuna.samplers.TPESampler(seed=base.seed),
    )
    settings = base.model_dump()
    values = {space.key: _value(settings, space.key) for space in spaces}
    if all(space.holds(values[space.key]) for space in spaces):
        study.enqueue_trial(values)
    return study


def _value(settings: Any, key: str) -> Any:
    """Return what a dotted key is set to, None if it is not."""
    for part in key.split("."):
        settings = settings.get(part) if isinstance(settings, Mapping) else None
    return settings


def _suggest(trial: "optuna.Trial", space: Space) -> float:
    if space.whole:
        step = int(space.step or 1)
        whole: int = trial.suggest_int(
            space.key, int(space.low), int(space.high), step=step, log=space.logarithmic
        )
        return whole
    value: float = trial.suggest_float(
        space.key, space.low, space.high, step=space.step, log=space.logarithmic
    )
    return value


def _tell(study: "optuna.Study", asked: "optuna.Trial", trial: Trial) -> None:
    from optuna.trial import TrialState  # noqa: PLC0415

    if trial.value is None or None in trial.margins:
        study.tell(asked, state=TrialState.FAIL)
        return
    for place, margin in enumerate(trial.margins):
        if margin is not None:
            asked.set_constraint(str(place), -margin)
    asked.set_constraint("more_lost", trial.more_lost)
    study.tell(asked, trial.value)
