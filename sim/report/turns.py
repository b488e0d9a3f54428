"""First and later turns beside each other, and how much of prompts was hit of what could have been.

Summaries of earlier versions have neither; a run in which no session has a second turn has no `by_turn`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.base import words
from sim.report.chart import DataTable
from sim.results.quantities import flat, label, unit

_TURNS = {"first": "first turns", "later": "later turns"}
_SHOWN = (
    "requests.total",
    "requests.completed",
    "ttft_s.p50",
    "ttft_s.p95",
    "tpot_s.p50",
    "e2e_s.p50",
    "queue_s.p95",
    "prompt_tokens",
    "recomputation",
)
_LABELS = {
    "requests.completed": "Completed",
    "prompt_tokens": "Prompt tokens",
    "recomputation": "Recomputation",
}
REUSE = {"prefill.ideal_hit_share": "ideal reuse", "prefill.hit_share": "achieved reuse"}


class Turns(NamedTuple):
    """What a summary says of turns and reuse."""

    reuse: dict[str, str]
    """Shares of prompt tokens by name; none if the summary has none."""
    table: DataTable | None


def turns(summary: Mapping[str, Any]) -> Turns | None:
    """Return what a summary has of it; None if it has nothing."""
    numbers = flat(summary)
    reuse = {name: words.percent(numbers[key]) for key, name in REUSE.items() if key in numbers}
    reuse |= {
        f"under {key.removeprefix('bounds.')}": words.percent(value)
        for key, value in numbers.items()
        if key.startswith("bounds.")
    }
    table = _table(summary["by_turn"]) if summary.get("by_turn") else None
    return Turns(reuse, table) if reuse or table else None


def _table(by_turn: Mapping[str, Any]) -> DataTable:
    columns = ["", *(_LABELS.get(name) or label(name) for name in (*_SHOWN, "hit_share"))]
    rows = []
    for key, name in _TURNS.items():
        numbers = flat(by_turn[key])
        cells = [unit(number).show(numbers.get(number)) for number in _SHOWN]
        rows.append([name, *cells, words.percent(numbers.get("hit_share"))])
    return DataTable(columns, rows)
