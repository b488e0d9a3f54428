"""What a person reads after a comparison of routing policies: a line for each, a column for each number."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import exactly
from sim.results.quantities import USUAL, label, select_or, unit
from sim.results.refusals import nothing_served
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.runs.paired import LEAST_PAIRS, Estimate
from sim.runs.policies import DISTANCE, ORACLE, SHOWN, above_oracle
from sim.runs.spread import CONFIDENCE
from sim.runs.unlike import warnings_of, with_lost
from sim.show.text.common_notes import common_notes
from sim.show.text.comparison import has_fewer, is_wide, key_headers, runs_line
from sim.show.text.page_parts import NOTHING_SERVED, UNEQUAL, align_unequal, footnotes, heading, thin_note
from sim.show.text.page_table import PageTable
from sim.show.text.repeats import BAND_WORDS, few_note
from sim.show.text.versions import rules_line

_GAP = 2


def render_policies(
    comparison: Comparison, policies: Mapping[str, str], metrics: Sequence[str]
) -> RenderableType:
    """Return these numbers of every policy, ready to print; in place of the usual ones, those for policies.

    Args:
        comparison: of policies.
        policies: by scenario (`sim.runs.policies.policies_of`).
        metrics: dotted names.

    """
    first = comparison.scenarios[0]
    titles = dict.fromkeys(run.settings.get("title", "") for run in comparison.runs)
    about = Group(
        heading(f"Routing policies, compared with {first}", runs_line(comparison)),
        *rules_line(comparison.summaries),
        *map(Text, titles),
    )
    if nothing_served(comparison.summaries):
        return Group(about, Text(), NOTHING_SERVED, footnotes(warnings=warnings_of(comparison)))
    usual = list(metrics) == select_or((), USUAL, comparison.metrics)
    chosen = select_or((), SHOWN, comparison.metrics) if usual else metrics
    table = _Table(comparison, policies, with_lost(comparison, chosen), distance=usual or DISTANCE in metrics)
    return Group(
        about,
        Text(),
        table.drawn(),
        footnotes(
            _spread_note(comparison),
            _oracle_note(table.has_oracle),
            thin_note([name for row in table.rows for name in row.thin]),
            table.missing_note(),
            common_notes(comparison),
            warnings=warnings_of(comparison),
        ),
    )


class _Table:
    """A line for each point and policy, and one below it for what the numbers lie between."""

    def __init__(
        self,
        comparison: Comparison,
        policies: Mapping[str, str],
        metrics: Sequence[str],
        *,
        distance: bool,
    ) -> None:
        self.rows = list(comparison.rows(metrics))
        self.has_oracle = distance and ORACLE in policies.values()
        self._comparison, self._policies, self._metrics = comparison, dict(policies), metrics
        self._at = {(row.metric, row.point): row for row in self.rows}

    def drawn(self) -> PageTable:
        """Return it ready to print."""
        comparison = self._comparison
        grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
        keys = key_headers(comparison.keys)
        grid.repeated = 1 + len(keys)
        for header in keys:
            grid.add_column(Text(header), no_wrap=True)
        grid.add_column(Text("policy"), no_wrap=True)
        numbers = [label(metric) for metric in self._metrics]
        for header in [*numbers, *(["Recomputation above oracle"] if self.has_oracle else [])]:
            grid.add_column(Text(header), justify="right", no_wrap=True)
        for place, point in enumerate(comparison.points):
            if place:
                grid.add_row()
            for name in comparison.scenarios:
                values = zip(comparison.keys, point, strict=True)
                where = [Text(comparison.written(key, value), style="dim") for key, value in values]
                grid.add_row(*where, Text(name), *self._numbers(point, name))
                below = list(self._spreads(point, name))
                if any(below):
                    grid.add_row(*[""] * len(where), "", *below, style="dim")
        return align_unequal(grid)

    def missing_note(self) -> list[str]:
        """Return what the dagger means, if there is one."""
        some = any(has_fewer(self._comparison, row, name) for row in self.rows for name in self._policies)
        return ["† without some of the runs: nothing was measured there"] if some else []

    def _numbers(self, point: Point, name: str) -> Iterator[Text]:
        for metric in self._metrics:
            row = self._at[metric, point]
            marks = "†" if has_fewer(self._comparison, row, name) else ""
            marks += "*" if name in row.thin else ""
            differs = row.differences.get(name)
            unequal = differs is not None and differs.excludes(0.0)
            marks += UNEQUAL if unequal else ""
            yield Text(unit(metric).show(row.spreads[name].middle) + marks, style="bold" if unequal else "")
        if self.has_oracle:
            away = self._distance(point, name)
            yield Text(words.MISSING if away is None else unit(DISTANCE).show_difference(away.value))

    def _spreads(self, point: Point, name: str) -> Iterator[Text]:
        least = 2 if self._comparison.has_bands else LEAST_PAIRS
        for metric in self._metrics:
            spread = self._at[metric, point].spreads[name]
            wide = spread.n >= least and spread.low != spread.high
            yield Text(words.between(spread.low, spread.high, unit(metric).show) if wide else "")
        if self.has_oracle:
            away = self._distance(point, name)
            shown = unit(DISTANCE).show_difference
            yield Text(words.between(away.low, away.high, shown) if away and is_wide(away) else "")

    def _distance(self, point: Point, name: str) -> Estimate | None:
        return above_oracle(self._comparison, self._policies, name, point)


def _spread_note(comparison: Comparison) -> list[str]:
    bold = f"bold and {UNEQUAL}: differs from {comparison.scenarios[0]}, paired by"
    if comparison.has_bands:
        return [f"below each number: {BAND_WORDS}", f"{bold} draw", *few_note(comparison.draws)]
    if len(comparison.seeds) < LEAST_PAIRS:
        return [f"no intervals: they take {exactly(LEAST_PAIRS, 'seed')} or more"]
    level = f"{100 * CONFIDENCE:.0f} %"
    return [f"below each number: {level} interval of the mean over the seeds; {bold} seed"]


def _oracle_note(told: bool) -> list[str]:
    if not told:
        return []
    return [
        "oracle: each prompt to where most of it truly is, whatever waits there; over a run others may win"
    ]
