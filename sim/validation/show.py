"""What a person reads of a validation, made for a terminal of 100 columns."""

from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.results import show
from sim.results.summary import footnotes, heading, table
from sim.validation.quantities import LABELS

MISSES = 5
"""Worst misses that are printed; JSON has them all."""
_RATIOS = ("workers_per_session", "decode_workers_per_session")


def render(runs: Sequence[Mapping[str, Any]], scenario: str) -> RenderableType:
    """Return the results of `sim.validation.validate.validate`, ready to print."""
    parts: list[RenderableType] = []
    for run in runs:
        parts += [heading(run["title"], f"validated on {scenario}"), Text()]
        if run["forced"]:
            parts += [*_forced(run["forced"]), Text()]
        if run["free"]:
            parts.append(_free(run["free"]))
        parts += [footnotes([run["settings"]], run["notes"]), Text()]
    if len(runs) > 1:
        parts.append(_overview(runs))
    return Group(*parts)


def _forced(forced: Mapping[str, Any]) -> Iterable[RenderableType]:
    rows = table("Workers and times as recorded", "measured", "predicted", "error", "LRU", "error")
    for name, label in LABELS.items():
        numbers = forced["numbers"][name]
        known = numbers["measured"] is not None and (numbers["measured"] or numbers["predicted"])
        if known and name not in _RATIOS:
            rows.add_row(
                label,
                show.count(numbers["measured"]),
                show.count(numbers["predicted"]),
                _error(numbers["error"]),
                show.count(numbers["baseline"]),
                _error(numbers["baseline_error"]),
            )
    yield rows
    agreement = forced["agreement"]
    if agreement["compared"]:
        yield Text()
        yield Text(
            f"Engine's cached tokens right for {agreement['right']} of {agreement['compared']} requests, "
            f"by the LRU for {agreement['baseline_right']}"
        )
        if agreement["misses"]:
            yield _misses(agreement["misses"])
    for leg, choices in forced["choices"].items():
        yield Text(
            f"Of {choices['logged']} {leg} choices {choices['cheapest']} are the cheapest here too, "
            f"{choices['equal_costs']} with all costs as logged"
        )
    if forced["held_blocks"]:
        yield Text()
        yield _held(forced["held_blocks"])


def _misses(misses: Sequence[Mapping[str, Any]]) -> Table:
    rows = table("Worst misses: row", "session", "worker", "sent at", "prompt", "measured", "predicted")
    for miss in misses[:MISSES]:
        rows.add_row(
            show.count(miss["row"]),
            miss["session"] or show.MISSING,
            miss["worker"] or show.MISSING,
            show.seconds(miss["sent_s"]),
            *(show.count(miss[f"{name}_tokens"]) for name in ("prompt", "measured", "predicted")),
        )
    return rows


def _held(held: Sequence[Mapping[str, Any]]) -> Table:
    rows = table("Blocks held in GPU memory", "measured at end", "predicted", "same prompt blocks", "mean")
    for worker in held:
        rows.add_row(
            worker["worker"],
            show.count(worker["measured_at_end"]),
            show.count(worker["predicted_at_end"]),
            f"{show.count(worker['same_at_end'])} of {show.count(worker['prompt_blocks_at_end'])}",
            show.percent(worker["mean_share_same"]),
        )
    return rows


def _free(free: Mapping[str, Any]) -> Table:
    spread = ", durations drawn" if free["spread"] is None else f", durations x e^({free['spread']:g} Z)"
    rows = table(
        f"Router chooses, {free['seeds']} seeds{spread}", "measured", "mean", "95 % of seeds", "measured is"
    )
    for name, numbers in free["predictions"].items():
        shown = show.number if name in _RATIOS else show.count
        rows.add_row(
            LABELS[name].strip().replace("of them", "Tokens"),
            shown(numbers["measured"]),
            shown(numbers["mean"]),
            f"{shown(numbers['low'])} to {shown(numbers['high'])}",
            _inside(numbers["inside"]),
        )
    return rows


def _inside(inside: bool | None) -> Text | str:
    if inside is None:
        return show.MISSING
    return Text("inside") if inside else Text("outside", style="bold red")


def _overview(runs: Sequence[Mapping[str, Any]]) -> Table:
    """Return a line for each run: recomputed tokens, forced and free."""
    rows = table(
        "Recomputed tokens", "measured", "forced", "LRU", "requests right", "free: 95 %", "measured is"
    )
    for run in runs:
        numbers = run["forced"]["numbers"]["recomputed_tokens"] if run["forced"] else {}
        agreement = run["forced"]["agreement"] if run["forced"] else {"compared": 0}
        free = run["free"]["predictions"]["recomputed_tokens"] if run["free"] else None
        rows.add_row(
            run["title"],
            show.count(numbers.get("measured", free and free["measured"])),
            _error(numbers.get("error")),
            _error(numbers.get("baseline_error")),
            f"{agreement['right']}/{agreement['compared']}" if agreement["compared"] else show.MISSING,
            f"{show.count(free['low'])} to {show.count(free['high'])}" if free else show.MISSING,
            _inside(free["inside"]) if free else show.MISSING,
        )
    return rows


def _error(error: Mapping[str, float | None] | None) -> str:
    """Return a signed error in percent; of nothing measured, the difference."""
    if error is None:
        return show.MISSING
    relative, difference = error["relative"], error["difference"]
    assert difference is not None
    sign = "" if isclose(difference, 0.0, abs_tol=1e-9) else "+" if difference > 0 else "-"
    if not sign:
        return "0"
    if relative is None:
        return f"{sign}{show.count(abs(difference))}"
    return f"{sign}{100 * abs(relative):.2f} %"
