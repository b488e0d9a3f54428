"""Runs of several scenarios beside each other: same points, seeds and draws, everything against the first."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from sim.results.quantities import names_in
from sim.runs.comparison_rows import Case, Point, Record, Row, Value
from sim.runs.paired import difference, drawn_difference, drawn_ratio, ratio
from sim.runs.run import Run
from sim.runs.spread import CONFIDENCE, COVERAGE, Spread, band, interval

_FILE_NAME_BYTES = 100
"""Of a scenario and its settings, in the names of files; a file system takes 255."""
SCHEMA_VERSION = 1


class Comparison:
    """Runs side by side. The first scenario is the one that the others are compared with."""

    def __init__(self, scenarios: Sequence[str], runs: Sequence[Run]) -> None:
        """Arrange the runs; `scenarios` are their names in order."""
        self.scenarios = tuple(scenarios)
        self.rule_runs = tuple(run for run in runs if run.switched)
        """Further runs, each with one rule switched, that tell what moved the numbers of `runs`."""
        self.runs = runs = tuple(run for run in runs if not run.switched)
        self.keys = tuple(dict.fromkeys(key for run in runs for key in run.written))
        self.points = tuple(dict.fromkeys(self.point(run) for run in runs))
        self.failed = tuple(run for run in runs if run.summary is None)
        self._cells: dict[tuple[str, Point], dict[Case, Run]] = {}
        for run in runs:
            self._cells.setdefault((run.scenario, self.point(run)), {})[run.seed, run.draw] = run
        self._shared = {point: self._shared_cases(point) for point in self.points}
        compared = [run for run in runs if self.is_compared(run)]
        self.seeds = tuple(sorted({run.seed for run in compared}))
        """Those that numbers are of: what all scenarios of a point ran with, if there is any."""
        self.draws = tuple(sorted({run.draw for run in compared}))
        self.cases = max(map(len, self._shared.values()), default=0)

    def point(self, run: Run) -> Point:
        """Return where a run stands. One that was not swept stands where its settings say."""
        return tuple(run.value(key) for key in self.keys)

    def _shared_cases(self, point: Point) -> set[Case]:
        """Return the seeds and draws that all scenarios of a point have; those of any, if they share none."""
        cases = [{*self._cells[name, point]} for name in self.scenarios if (name, point) in self._cells]
        return set.intersection(*cases) or set.union(*cases)

    def is_compared(self, run: Run) -> bool:
        """Whether the numbers of a comparison are of this run too: the other scenarios have its like."""
        return (run.seed, run.draw) in self._shared[self.point(run)]

    @cached_property
    def has_pairs(self) -> bool:
        """Whether at any point all its scenarios have a seed and draw in common."""
        return any(
            all(case in self._cells[name, point] for name in self.scenarios if (name, point) in self._cells)
            for point, cases in self._shared.items()
            for case in cases
        )

    @cached_property
    def has_bands(self) -> bool:
        """Whether a point has several draws: numbers have bands then, in place of intervals over seeds."""
        return any(len({draw for _, draw in cases}) > 1 for cases in self._shared.values())

    @property
    def middle(self) -> str:
        """What the middle of a spread is: "median" over draws, "mean" over seeds."""
        return "median" if self.has_bands else "mean"

    def runs_at(self, scenario: str, point: Point) -> list[Run]:
        """Return the runs of a scenario at a point, by seed and draw."""
        return [run for _, run in sorted(self._cells.get((scenario, point), {}).items())]

    def values_of(self, key: str) -> list[Value]:
        """Return what a swept key is set to at any point."""
        place = self.keys.index(key)
        return list(dict.fromkeys(point[place] for point in self.points))

    def written(self, key: str, value: Value) -> str:
        """Return a value of a swept key as the user wrote it."""
        texts = (run.written[key] for run in self.runs if key in run.written and run.value(key) == value)
        return next(texts, "none" if value is None else str(value))

    @property
    def summaries(self) -> list[Mapping[str, Any]]:
        """The summaries of the runs that did not fail."""
        return [run.summary for run in self.runs if run.summary is not None]

    @cached_property
    def metrics(self) -> list[str]:
        """The names of all numbers that any run has."""
        return names_in(run.numbers for run in self.runs)

    def rows(self, metrics: Sequence[str]) -> Iterator[Row]:
        """Yield a row for each of these numbers and each point, the points fastest."""
        for metric in metrics:
            for point in self.points:
                yield self._row(metric, point)

    def records(self) -> Iterator[Record]:
        """Yield every number of every run."""
        for run in self.runs:
            for metric, value in run.numbers.items():
                if value is not None:
                    yield Record(run.scenario, self.point(run), run.seed, run.draw, metric, value)

    def compared_records(self, metrics: Sequence[str]) -> Iterator[Record]:
        """Yield the values of these numbers that rows are made of."""
        for metric in metrics:
            for point in self.points:
                for name, found in self._compared_values(metric, point).items():
                    for (seed, draw), value in found.items():
                        yield Record(name, point, seed, draw, metric, value)

    def failures(self) -> Iterator[str]:
        """Yield a line for each scenario, point and message, with the seeds and draws that failed."""
        runs: dict[tuple[str, str], list[str]] = {}
        for run in (*self.failed, *self.rule_runs):
            if run.summary is not None:
                continue
            point = ", ".join(filter(None, [*(f"{k}={v}" for k, v in run.written.items()), run.switched]))
            which = f"{run.seed} draw {run.draw}" if run.draw else str(run.seed)
            runs.setdefault((f"{run.scenario}{point and f' at {point}'}", run.error), []).append(which)
        for (where, error), found in runs.items():
            yield f"{where}, seed {', '.join(found)}: {error}"

    # -- for files ------------------------------------------------------------------------------------------

    def to_dict(self, metrics: Sequence[str]) -> dict[str, Any]:
        """Return the comparison ready for JSON: the rows of these numbers, and every run's whole summary."""
        return {
            "schema_version": SCHEMA_VERSION,
            "scenarios": list(self.scenarios),
            "keys": list(self.keys),
            "seeds": list(self.seeds),
            "draws": list(self.draws),
            **({"coverage": COVERAGE} if self.has_bands else {"confidence": CONFIDENCE}),
            "rows": [self._row_to_dict(row) for row in self.rows(metrics)],
            "runs": [self.run_to_dict(run) for run in self.runs],
        }

    def run_to_dict(self, run: Run) -> dict[str, Any]:
        """Return one of its runs ready for JSON."""
        return {
            "scenario": run.scenario,
            "point": self._named(self.point(run)),
            "written": dict(run.written),
            "seed": run.seed,
            "draw": run.draw,
            "settings": self.settings_file(run),
            "error": run.error or None,
            "notes": list(run.notes),
            "summary": run.summary,
        }

    def settings_file(self, run: Run) -> str:
        """Return the name of the file that has the settings of a run and of its other seeds."""
        return self._files[run.scenario, self.point(run)]

    @cached_property
    def _files(self) -> dict[tuple[str, Point], str]:
        digits = len(str(len(self._cells)))
        names = {}
        for number, (scenario, point) in enumerate(self._cells, start=1):
            parts = [
                scenario,
                *(f"{key}={self.written(key, value)}" for key, value in self._named(point).items()),
            ]
            words = "".join(c if c.isalnum() or c in "._=-" else "-" for c in "_".join(parts))
            short = words.encode()[:_FILE_NAME_BYTES].decode(errors="ignore")
            names[scenario, point] = f"{number:0{digits}}_{short}.toml"
        return names

    def _row(self, metric: str, point: Point) -> Row:
        values = self._compared_values(metric, point)
        first = values[self.scenarios[0]]
        differences, ratios = {}, {}
        away, over = (drawn_difference, drawn_ratio) if self.has_bands else (difference, ratio)
        for name in self.scenarios[1:]:
            pairs = [(first[case], value) for case, value in values[name].items() if case in first]
            left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            differences[name], ratios[name] = away(left, right), over(left, right)
        spreads = {name: self._spread(list(found.values()), metric) for name, found in values.items()}
        thin = [name for name in self.scenarios if self._is_thin(metric, name, point)]
        return Row(metric, point, spreads, differences, ratios, thin)

    def _spread(self, values: Sequence[float], metric: str) -> Spread:
        return band(values) if self.has_bands else interval(values, metric)

    def _compared_values(self, metric: str, point: Point) -> dict[str, dict[Case, float]]:
        """Return a number of each scenario in the cases in which all have it, so that means and pairs agree.

        A scenario that never has it counts for nothing, and where no case is left, all that they have.
        """
        values = {name: self._values(metric, name, point) for name in self.scenarios}
        cases = set.intersection(*([{*found} for found in values.values() if found] or [set()]))
        if not cases:
            return values
        return {
            name: {case: value for case, value in found.items() if case in cases}
            for name, found in values.items()
        }

    def _values(self, metric: str, scenario: str, point: Point) -> dict[Case, float]:
        """Return a number by seed and draw, where it was measured."""
        values = {(run.seed, run.draw): run.number(metric) for run in self.runs_at(scenario, point)}
        return {case: value for case, value in values.items() if value is not None}

    def _is_thin(self, metric: str, scenario: str, point: Point) -> bool:
        return any(metric in run.thin_percentiles for run in self.runs_at(scenario, point))

    def _row_to_dict(self, row: Row) -> dict[str, Any]:
        return {
            "metric": row.metric,
            "point": self._named(row.point),
            "thin": list(row.thin),
            "scenarios": {name: spread.named(self.middle) for name, spread in row.spreads.items()},
            "against_first": {
                name: {"difference": row.differences[name]._asdict(), "ratio": row.ratios[name]._asdict()}
                for name in self.scenarios[1:]
            },
        }

    def _named(self, point: Point) -> dict[str, Value]:
        return dict(zip(self.keys, point, strict=True))
