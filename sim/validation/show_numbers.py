"""Cells of the tables of a validation, and the table that two of its steps share."""

from collections.abc import Mapping
from math import isclose
from typing import Any

from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.words import exactly
from sim.results.labels import LATENCY_LABELS
from sim.show.text.page_parts import table
from sim.validation.predictions.quantities import LABELS

RATIOS = ("workers_per_session", "decode_workers_per_session")


def label(name: str) -> str:
    """Return what a number is called."""
    latency, _, percentile = name.partition(".")
    if percentile:
        return f"{LATENCY_LABELS[latency]} {percentile}"
    return LABELS[name].strip().replace("of them", "Tokens")


def cell(name: str, value: float | None) -> str:
    """Return a value of a number as it is read."""
    if "." in name:
        return words.seconds(value)
    return words.number(value) if name in RATIOS else words.count(value)


def span(name: str, low: float, high: float) -> str:
    """Return an interval of a number, its unit once if both ends have the same."""
    first, last = cell(name, low), cell(name, high)
    amount, _, unit = first.partition(" ")
    return f"{amount if unit and last.endswith(f' {unit}') else first} to {last}"


def spread(name: str, repeats: Mapping[str, Any]) -> str:
    """Return over what a measured number ranges in runs that repeat each other."""
    found = repeats["numbers"].get(name)
    return span(name, found["low"], found["high"]) if found else words.MISSING


def inside(is_inside: bool | None) -> Text | str:
    """Return whether what was measured is in the interval."""
    if is_inside is None:
        return words.MISSING
    return Text("inside") if is_inside else Text("outside", style="bold red")


def error(found: Mapping[str, float | None] | None) -> str:
    """Return a signed error in percent; of nothing measured, the difference."""
    if found is None:
        return words.MISSING
    relative, difference = found["relative"], found["difference"]
    assert difference is not None
    sign = "" if isclose(difference, 0.0, abs_tol=1e-9) else "+" if difference > 0 else "-"
    if not sign:
        return "0"
    if relative is None:
        return f"{sign}{words.count(abs(difference))}"
    return f"{sign}{words.percent(abs(relative))}"


def predictions(title: str, found: Mapping[str, Any], repeats: Mapping[str, Any] | None) -> Table:
    """Return what was measured beside what runs with several seeds predict, a line a number."""
    columns = ["measured", *(["repeats"] if repeats else []), "mean", "error"]
    rows = table(title, *columns, f"95 % of {exactly(found['seeds'], 'seed')}", "")
    for name, numbers in found["predictions"].items():
        rows.add_row(
            label(name),
            cell(name, numbers["measured"]),
            *([spread(name, repeats)] if repeats else []),
            cell(name, numbers["mean"]),
            error(numbers["error"]),
            span(name, numbers["low"], numbers["high"]),
            inside(numbers["inside"]),
        )
    return rows
