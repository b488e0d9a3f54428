"""What faults cost, in words: a line of the requests, and a table with a row for each fault."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.show.text.page_table import PageTable

COUNTS = {
    "requests_failed": "failed",
    "requests_retried": "retried",
    "requests_cancelled": "cancelled",
    "lost_tokens": "tokens lost",
    "lost_blocks": "blocks lost",
    "lost_cpu_blocks": "of CPU tier",
    "lost_event_blocks": "in events",
}
"""Counts of a fault that are shown where any fault has them."""


def broken(requests: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the states that only faults bring requests to, if any is in them, each with its reasons."""
    found = []
    for status in ("failed", "cancelled"):
        if requests.get(status):
            reasons = ", ".join(f"{reason} {n}" for reason, n in requests[f"{status}_by_reason"].items())
            found.append((status, f" ({reasons})"))
    return found


def fault_rows(faults: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return headings, and a row of cells for each fault."""
    shown = [key for key in COUNTS if any(fault[key] for fault in faults)]
    rows = []
    for fault in faults:
        lasted = "to the end" if fault["down_s"] is None else words.seconds(fault["down_s"])
        if not fault["began"]:
            lasted = "never began"
        counts = [words.count(fault[key]) for key in shown]
        worker = "-" if fault["worker"] is None else str(fault["worker"])
        rows.append([fault["kind"], worker, words.seconds(fault["at_s"]), lasted, *counts])
    return ["Fault", "worker", "at", "lasted", *(COUNTS[key] for key in shown)], rows


def fault_table(faults: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the table, after an empty line; nothing without faults."""
    if not faults:
        return Group()
    headings, rows = fault_rows(faults)
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    return Group(Text(), grid)
