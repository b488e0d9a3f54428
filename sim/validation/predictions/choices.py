"""The router's logged choices beside those of a replay in which every request goes where it went."""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.measured.formats.formula import as_logged
from sim.measured.formats.router_log import LoggedDecision
from sim.validation.replay.recording import Recording, pools
from sim.validation.replay.replay import Replay


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of one stage whose costs the router logged, and what they look like in the replay."""

    logged: int
    equal_costs: int
    """Every logged candidate's cost is the replay's, to the digits of the log."""
    cheapest: int
    """The worker that was taken is the cheapest in the replay, too, or one of those."""


def compare_choices(replayed: Replay) -> dict[str, Choices]:
    """Return the comparison by stage; nothing of a stage without logged costs."""
    recorded = replayed.recording
    costs = _costs(replayed)
    first_decode = replayed.scenario.workers.first_decode
    counts: dict[str, list[int]] = {}
    for (index, stage), by_worker in costs.items():
        request = recorded.requests[index]
        decision = request.decode if stage == "decode" else request.prefill
        if decision is None or decision.chosen is None:
            continue
        logged = _logged(recorded, decision, first_decode if stage == "decode" else 0)
        taken = _taken(recorded, index, stage, first_decode)
        # A replay may have workers that the run had lost.
        pairs = [(by_worker[worker], cost) for worker, cost in logged.items()]
        equal = all(as_logged(theirs, ours) for ours, theirs in pairs)
        cheapest = by_worker[taken] <= min(ours for ours, _ in pairs) if taken is not None else False
        count = counts.setdefault(stage, [0, 0, 0])
        for place, value in enumerate((True, equal, cheapest)):
            count[place] += value
    return {stage: Choices(*count) for stage, count in counts.items()}


def _costs(replayed: Replay) -> Mapping[tuple[int, str], dict[int, float]]:
    """Return the replay's costs by worker, for each request and stage."""
    table = replayed.rows.tables["decisions"]
    columns = (table.column(name) for name in ("request", "leg", "worker", "cost"))
    found: dict[tuple[int, str], dict[int, float]] = {}
    for request, stage, worker, cost in zip(*columns, strict=True):
        found.setdefault((request, stage), {})[worker] = cost
    return found


def _logged(recorded: Recording, decision: LoggedDecision, first: int) -> dict[int, float]:
    """Return logged costs by the replay's number of the worker."""
    pool = pools(recorded.run)[1 if first else 0]
    names = [worker.name for worker in pool]
    found = {}
    for candidate in decision.candidates:
        worker = recorded.run.worker(candidate.worker_id)
        if worker and worker.name in names:
            found[first + names.index(worker.name)] = candidate.cost
    return found


def _taken(recorded: Recording, index: int, stage: str, first_decode: int) -> int | None:
    if stage != "decode":
        return recorded.ranks.get(index)
    rank = recorded.decode_ranks.get(index)
    return None if rank is None else first_decode + rank
