"""What a person reads of predicted requests, made for a terminal of 100 columns."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base.words import exactly
from sim.show.text.page_parts import footnotes, heading
from sim.show.text.page_table import PageTable
from sim.show.text.versions import rules_line
from sim.validation.requests.validate import COLUMNS

_KINDS = {
    ("fitted", False): "fitted",
    ("new", False): "held out, new arrivals",
    ("repeat", False): "held out, repeats of fitted arrivals",
    ("fitted", True): "fitted, saturated",
    ("new", True): "held out, new arrivals, saturated",
    ("repeat", True): "held out, repeats, saturated",
}
"""By how a run was seen, and whether it is saturated; in the order of the table."""
_NAME_WIDTH = 42


def render(result: Mapping[str, Any], scenario: str) -> RenderableType:
    """Return the result of `sim.validation.requests.validate.validate_requests`, ready to print."""
    notes = [
        f"step times: {result['step_times']}",
        "saturated: requests waited over twice as long in the last quarter of a run as in the first",
        "repeats: runs whose first 100 requests came at the times of a fitted one",
        "a request: mean absolute error of E2E, request by request",
    ]
    return Group(
        heading(f"{_count(len(result['runs']))} of {result['file']['name']}", f"validated on {scenario}"),
        *rules_line([result]),
        Text(),
        *_unserved(result["runs"]),
        _runs(result),
        Text(),
        _groups(result),
        footnotes(notes),
    )


def _unserved(runs: Sequence[Mapping[str, Any]]) -> Iterable[RenderableType]:
    """Yield how many requests the engine answered that this one refuses, where there are any."""
    found = [run for run in runs if run["unserved"]]
    if not found:
        return
    n, of = sum(run["unserved"] for run in found), sum(run["requests"] for run in found)
    names = ", ".join(run["name"] for run in found[:3]) + (", ..." if len(found) > 3 else "")
    yield Text.assemble(
        ("Refused: ", "bold red"),
        f"{n:,} of {exactly(of, 'request')} that the measured engine served are refused here (longer "
        f"than max_model_len or the pool), in {_count(len(found))}: {names}. Errors are of the others alone",
    )
    yield Text()


def _table(first: str) -> PageTable:
    table = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(first, no_wrap=True)
    for column in COLUMNS:
        name, percentile = column.split("_")
        table.add_column(f"{name.upper()}\n{percentile}", justify="right", no_wrap=True)
    table.add_column("a request\nE2E", justify="right", no_wrap=True)
    return table


def _runs(result: Mapping[str, Any]) -> PageTable:
    """Return signed errors of the scenario's own law, a line a run, alike runs together."""
    table = _table("Error of the prediction, %")
    law = result["laws"][0]["name"]
    for kind, label in _KINDS.items():
        runs = [run for run in result["runs"] if (run["seen"], run["saturated"]) == kind]
        if runs:
            table.add_row(Text(label, style="dim"))
        for run in runs:
            name = fill(run["name"], _NAME_WIDTH, initial_indent="  ", subsequent_indent="  ")
            table.add_row(name, *_cells(run["errors"][law], signed=True))
    return table


def _groups(result: Mapping[str, Any]) -> PageTable:
    """Return mean absolute errors, a line a law, for each group of runs."""
    table = _table("Mean absolute error, %")
    of_a_kind = [group["runs"] for group in result["groups"] if group["name"] in ("new", "repeat")]
    for group in result["groups"]:
        if group["name"] == "held_out" and group["runs"] in of_a_kind:
            continue  # it says the same again
        table.add_row(Text(f"{group['label']}, {_count(group['runs'])}", style="dim"))
        for law in result["laws"]:
            style = "bold" if law is result["laws"][0] else ""
            numbers = group["mean_absolute_error"][law["name"]]
            table.add_row(f"  {law['label']}", *_cells(numbers, signed=False), style=style)
    return table


def _count(count: int) -> str:
    return exactly(count, "run")


def _cells(numbers: Mapping[str, float | None], *, signed: bool) -> Iterable[str]:
    for column in COLUMNS:
        yield _percent(numbers[column], signed=signed)
    yield _percent(numbers["request_e2e"], signed=False)


def _percent(share: float | None, *, signed: bool) -> str:
    if share is None:
        return "-"
    size = abs(100 * share)
    sign = ("+" if share > 0 else "-") if signed else ""
    return f"{sign}{size:,.1f}" if size < 99.95 else f"{sign}{size:,.0f}"
