"""How latencies of a run are distributed, in words."""

from collections.abc import Mapping
from typing import Any

from sim.base import words
from sim.results.labels import LATE_LABEL, LATENCY_LABELS
from sim.show.text.page_parts import table
from sim.show.text.page_table import PageTable


def latency_table(summary: Mapping[str, Any]) -> PageTable:
    """Return a line for each latency, a column for each number of its distribution."""
    rows = table("Latency", *summary["ttft_s"])
    rows.columns[0].min_width = max(map(len, latency_rows(summary)))
    for label, cells in latency_rows(summary).items():
        rows.add_row(label, *cells)
    return rows


def latency_rows(summary: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the distribution of each latency in words, and of the wait in the client if anything waited."""
    rows = {label: latency_cells(summary, name) for name, label in LATENCY_LABELS.items()}
    late = summary.get("late_s")
    return rows | ({LATE_LABEL: latency_cells(summary, "late_s")} if late and late["max"] else {})


def latency_cells(summary: Mapping[str, Any], name: str) -> list[str]:
    """Return the distribution of a latency in words; an asterisk marks percentiles of few samples."""
    (_, n), *numbers = summary[name].items()
    thin = summary["thin_percentiles"]
    return [
        words.count(n),
        *(words.seconds(value) + ("*" if f"{name}.{key}" in thin else " ") for key, value in numbers),
    ]
