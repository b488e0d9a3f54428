"""What makes numbers of several runs unlike: requests that were not completed, requests that left late."""

from collections.abc import Iterator, Sequence

from sim.base.words import exactly
from sim.results.lateness import LATE, is_notable, late_sentence, mean_numbers
from sim.results.refusals import lost_metrics, refusals, shares
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.runs.run import Run
from sim.runs.unlike_times import unlike_times


def with_lost(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """Return these numbers, and the counts of requests that were not completed where they are not 0."""
    return list(dict.fromkeys([*metrics, *lost_metrics(run.numbers for run in comparison.runs)]))


def with_late(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """Return these numbers, and the wait in the client if any request waited there."""
    waited = any(run.numbers.get(LATE) for run in comparison.runs)
    return list(dict.fromkeys([*metrics, *([LATE] if waited else [])]))


def warnings_of(comparison: Comparison) -> list[str]:
    """Return what would mislead whoever reads the numbers alone: for each scenario, of its worst point."""
    warnings = [*_refused(comparison), *shares(comparison.summaries)]
    late: list[str] = []
    for name in comparison.scenarios:
        late += _late(comparison, name, because=not late)
    return [*warnings, *late, *unlike_times((_run_name(comparison, run), run) for run in comparison.runs)]


def _run_name(comparison: Comparison, run: Run) -> str:
    point = ", ".join(f"{key}={value}" for key, value in run.written.items())
    if not point:
        return run.scenario
    return f"{run.scenario} at {point}" if len(comparison.scenarios) > 1 else point


def _refused(comparison: Comparison) -> Iterator[str]:
    """Yield what was refused, once where scenarios refused alike."""
    names: dict[str, list[str]] = {}
    for name in comparison.scenarios:
        runs = [run.summary for run in comparison.runs if run.scenario == name and run.summary is not None]
        for line in refusals(runs):
            names.setdefault(line, []).append(name)
    for line, found in names.items():
        yield _named(comparison, ", ".join(found), line)


def _late(comparison: Comparison, scenario: str, *, because: bool) -> list[str]:
    points = {point: _means(comparison.runs_at(scenario, point)) for point in comparison.points}
    found = [point for point, numbers in points.items() if is_notable(numbers)]
    if not found:
        return []
    worst = max(found, key=lambda point: points[point].get(LATE, 0.0))
    more = f"; so at {len(found)} of {exactly(len(points), 'point')}" if len(found) > 1 else ""
    line = late_sentence(points[worst], because=because)
    return [_named(comparison, scenario, f"{_where(comparison, worst)}{line}{more}")]


def _means(runs: Sequence[Run]) -> dict[str, float]:
    return mean_numbers([run.numbers for run in runs if run.summary is not None])


def _named(comparison: Comparison, scenario: str, line: str) -> str:
    return f"{scenario}: {line}" if len(comparison.scenarios) > 1 else line


def _where(comparison: Comparison, point: Point) -> str:
    if len(comparison.points) == 1:
        return ""
    named = zip(comparison.keys, point, strict=True)
    return "at " + ", ".join(f"{key}={comparison.written(key, value)}" for key, value in named) + " "
