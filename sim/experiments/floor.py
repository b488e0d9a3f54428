"""The runs that say how fast an idle worker serves each request alone (`sim.runs.floor`)."""

from collections.abc import Sequence

from sim.experiments.jobs.execute import Runner
from sim.experiments.jobs.job import Job, seeded
from sim.hardware.parallel import Parallel
from sim.runs.floor import COLD, COLD_NAME, WARM_NAME, Floor, alone
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario

_IN_TURN = ("replay.client=turn-dependent", "replay.lanes=1", "replay.max_concurrency=sessions")
"""One session after another, for a trace without timestamps."""


def find_floor(
    source: str, fixed: Sequence[str], parallels: Sequence[Parallel], base: Scenario, run: Runner
) -> Floor | None:
    """Return the floor of a scenario over engines of these sizes, and of its decode engines.

    None if the requests cannot be sent so, or no such engine would start: then a search says why.
    """
    sizes = [*parallels, *([base.workers.decode_parallel] if base.workers.decode else [])]
    engines = list(dict.fromkeys(sizes))
    made = run(_jobs(source, fixed, engines))
    exact = _is_exact(base)
    if all(each.summary is None for each in made):
        made = run(_jobs(source, [*fixed], engines, _IN_TURN)) if _is_in_turn(base) else made
        exact = False
    good = [each for each in made if each.summary is not None]
    warm, cold = ([each for each in good if each.scenario == name] for name in (WARM_NAME, COLD_NAME))
    return Floor(warm, cold, exact) if warm else None


def _jobs(
    source: str, fixed: Sequence[str], engines: Sequence[Parallel], further: Sequence[str] = ()
) -> list[Job]:
    jobs: list[Job] = []
    for parallel in engines:
        changes = [*fixed, *alone(parallel), *further]
        scenarios = {
            WARM_NAME: load_scenario(source, changes),
            COLD_NAME: load_scenario(source, [*changes, *COLD]),
        }
        jobs += seeded(scenarios, {}, [scenarios[WARM_NAME].seed])
    return jobs


def _is_in_turn(base: Scenario) -> bool:
    return base.replay.client == "turn-dependent"


def _is_exact(base: Scenario) -> bool:
    """Whether the requests that count are the same in any cluster: not where time decides which do."""
    replay = base.replay
    if replay.warm_up_s is not None or replay.duration_s is not None:
        return False
    return not (_is_in_turn(base) and replay.warm_up_requests)
