"""What moved numbers from one release to another, as a table of a page."""

from collections.abc import Sequence

from sim.report.chart import DataTable
from sim.results.quantities import label, select_or, unit
from sim.runs.comparison import Comparison
from sim.runs.rule_effects import VERSION, Move, pairs
from sim.show.text.moved import SHOWN, moved_text, parts_of


def moved_table(comparison: Comparison) -> DataTable:
    """Return a row for each scenario, point and main number: its values, and the rules that moved it."""
    rows = [
        _row(comparison, pair.move(metric))
        for pair in pairs(comparison)
        for metric in select_or((), SHOWN, comparison.metrics)
    ]
    return DataTable(["number", "of", "before", "after", "change", "moved by"], rows)


def _row(comparison: Comparison, move: Move) -> Sequence[str]:
    shown = unit(move.metric).show
    where = [
        f"{old} to {new}" if key == VERSION else f"{key}={comparison.written(key, old)}"
        for key, old, new in zip(comparison.keys, move.old, move.new, strict=True)
    ]
    by = ", ".join(f"{rule} {moved_text(move, part)}" for rule, part in parts_of(move))
    of = ", ".join([move.scenario, *where])
    return [label(move.metric), of, shown(move.before), shown(move.after), moved_text(move, move.whole), by]
