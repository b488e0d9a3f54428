"""First and later turns of sessions beside each other."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.show.text.page_parts import table

_SHOWN = ("p50", "p95")
"""Percentiles of the time to first token."""


def turn_table(summary: Mapping[str, Any]) -> RenderableType:
    """Return a line for first turns and one for later ones, after an empty line; nothing if all are first."""
    found = summary.get("by_turn")
    if not found:
        return Group()
    rows = table(
        "Turns", "requests", "completed", *(f"TTFT {key}" for key in _SHOWN), "cached", "ideal", "recomputed"
    )
    for name, numbers in found.items():
        counts = numbers["requests"]
        rows.add_row(
            f"{name.capitalize()} turns",
            words.count(counts["total"]),
            words.count(counts["completed"]),
            *_percentiles(numbers["ttft_s"], f"by_turn.{name}.ttft_s", summary["thin_percentiles"]),
            words.percent(numbers["hit_share"]),
            words.percent(numbers["ideal_hit_share"]),
            words.percent(numbers["recomputation"]),
        )
    return Group(Text(), rows)


def _percentiles(ttft_s: Mapping[str, float | None], metric: str, thin: list[str]) -> list[str]:
    return [words.seconds(ttft_s[key]) + ("*" if f"{metric}.{key}" in thin else " ") for key in _SHOWN]
