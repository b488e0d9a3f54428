"""Runs with one rule of another release switched, which tell what moved numbers (`sim.runs.rule_effects`).

Of `n` rules that can act, each takes a run of the old release with it and one of the new release without it.
Where these are one of the others, they are not made again: of one rule no run, of two only two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.engine.rule_set import VERSIONS
from sim.experiments.jobs.job import Job
from sim.runs.rule_effects import VERSION
from sim.runs.run import Run
from sim.scenario.acting_rules import acting_rules
from sim.scenario.load import load_scenario
from sim.scenario.points import Axis
from sim.scenario.scenario import Scenario

_OPTION = "--explain-versions"


class RuleJob(NamedTuple):
    """A run to make, or one that another one stands for."""

    place: int
    """Of the job whose settings it has but for the rule."""
    switched: str
    """ "retention=0.33"."""
    job: Job | None
    same_as: tuple[int, str] = (-1, "")
    """Without a job: the place and the switched rule ("": none) of the run that is this one too."""


def check_explained(draws: int | None, ran: Sequence[str]) -> None:
    """Refuse what cannot be explained.

    Raises:
        InputError: draws are asked for, or something ran already; says what to leave out.

    """
    if draws:
        raise InputError(f"{_OPTION}, --draws: medians of draws do not add up to a whole; give --repeat")
    if ran:
        raise InputError(f"{_OPTION}: {', '.join(ran)} ran already; give scenarios alone")


def version_axis(axes: Sequence[Axis], scenarios: Iterable[Scenario]) -> list[Axis]:
    """Return the axes with one of releases: unless it is there, the scenarios' own one and each other.

    Raises:
        InputError: scenarios are of several releases, or single rules are swept.

    """
    for axis in axes:
        if axis.key.startswith("engine.rules"):
            raise InputError(
                f"{_OPTION}, --set {axis.key}: it switches rules itself; give one value, or none"
            )
    if any(axis.key == VERSION for axis in axes):
        return list(axes)
    own = dict.fromkeys(scenario.engine.version for scenario in scenarios)
    if len(own) > 1:
        raise InputError(
            f"{_OPTION}: scenarios are of vLLM {' and '.join(own)}; say which one is first: "
            f"--set {VERSION}={','.join(VERSIONS)}"
        )
    values = [*own, *(version for version in VERSIONS if version not in own)]
    return [*axes, Axis(VERSION, tuple(values))]


def rule_jobs(jobs: Sequence[Job]) -> list[RuleJob]:
    """Return what tells which rules moved the numbers of jobs from their first release to each other one.

    Raises:
        InputError: a scenario cannot run with a rule switched.

    """
    found: list[RuleJob] = []
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        rest = tuple(sorted((key, text) for key, text in job.written.items() if key != VERSION))
        groups.setdefault((job.name, rest, job.scenario.seed), []).append(place)
    for old, *others in groups.values():
        for new in others:
            found += _between(jobs, old, new)
    return found


def _between(jobs: Sequence[Job], old: int, new: int) -> list[RuleJob]:
    before, after = jobs[old].scenario, jobs[new].scenario
    was, becomes = before.engine.version, after.engine.version
    rules = acting_rules(before, becomes)
    forward = {rule: f"{rule}={becomes}" for rule in rules}
    back = {rule: f"{rule}={was}" for rule in rules}
    if len(rules) == 1:
        (rule,) = rules
        return [RuleJob(old, forward[rule], None, (new, "")), RuleJob(new, back[rule], None, (old, ""))]
    made = [RuleJob(old, forward[rule], _switched(jobs[old], forward[rule])) for rule in rules]
    if len(rules) == 2:
        one, two = rules
        return [
            *made,
            RuleJob(new, back[one], None, (old, forward[two])),
            RuleJob(new, back[two], None, (old, forward[one])),
        ]
    return made + [RuleJob(new, back[rule], _switched(jobs[new], back[rule])) for rule in rules]


def _switched(job: Job, switched: str) -> Job:
    rule, _, version = switched.partition("=")
    try:
        scenario = load_scenario(job.scenario, [f'engine.rules.{rule}="{version}"'])
    except InputError as error:
        raise InputError(f"{_OPTION}: {job.name} with {switched}: {error}") from error
    return replace(job, scenario=scenario)


def with_rules(runs: Sequence[Run], asked: Sequence[RuleJob], made: Sequence[Run]) -> list[Run]:
    """Return the runs of all that was asked for, `made` being those of its jobs in order."""
    left = iter(made)
    known = {(wanted.place, wanted.switched): next(left) for wanted in asked if wanted.job is not None} | {
        (place, ""): run for place, run in enumerate(runs)
    }
    found = []
    for wanted in asked:
        one = known[(wanted.place, wanted.switched) if wanted.job is not None else wanted.same_as]
        like = runs[wanted.place]
        found.append(replace(one, settings=like.settings, written=like.written, switched=wanted.switched))
    return found


def said(jobs: Sequence[Job], asked: Sequence[RuleJob]) -> str:
    """Return how many runs there will be, and of which rules."""
    if not asked:
        runs = exactly(len(jobs), "run")
        return f"{runs}; no rule that differs between these releases can act on these settings"
    made = sum(wanted.job is not None for wanted in asked)
    rules = dict.fromkeys(wanted.switched.partition("=")[0] for wanted in asked)
    return (
        f"{exactly(len(jobs) + made, 'run')}: {len(jobs):,} as they are, {made:,} with one rule switched; "
        f"{exactly(len(rules), 'rule')} can act: {', '.join(rules) or 'none'}"
    )
