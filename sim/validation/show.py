"""What a person reads of a validation, made for a terminal of 100 columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.words import exactly
from sim.show.text.page_parts import footnotes, heading, table
from sim.show.text.versions import rules_line
from sim.validation.predictions.quantities import LABELS
from sim.validation.refused import Refused
from sim.validation.router_log.show_log import render_log
from sim.validation.show_numbers import RATIOS, error, inside, predictions, spread
from sim.validation.show_timed import law, overview

MISSES = 5
"""Worst misses that are printed; JSON has them all."""


def render(runs: Sequence[Mapping[str, Any]], scenario: str) -> RenderableType:
    """Return the results of `sim.validation.validate.validate`, ready to print."""
    parts: list[RenderableType] = []
    for run in runs:
        head = heading(run["title"], f"validated on {scenario}")
        parts += [head, *rules_line([run]), Text(), *_warnings(run)]
        if run["forced"]:
            parts += [*_forced(run["forced"], run["repeats"]), Text()]
        if run["free"]:
            parts.append(predictions("Router chooses", run["free"], run["repeats"]))
        if run["timed"]:
            parts.append(predictions("All simulated", run["timed"], run["repeats"]))
        if run["router_log"]:
            parts += render_log(run["router_log"])
        about = (_varied(run["free"]), _repeats(run["repeats"]), law(run))
        parts += [footnotes([run["settings"]], *about, run["notes"]), Text()]
    if len(runs) > 1 and any(run["forced"] or run["free"] for run in runs):
        parts.append(_overview(runs))
    if len(runs) > 1 and all(run["timed"] for run in runs):
        parts.append(overview(runs))
    return Group(*parts)


def _warnings(run: Mapping[str, Any]) -> Iterable[RenderableType]:
    """Yield what makes the numbers below others than the recording's, before them."""
    found = [("Not the recorded engines: ", difference["text"]) for difference in run["differences"]]
    lost = [run[step]["refused"] for step in ("forced", "free", "timed", "router_log") if run[step]]
    sentences = [str(Refused(one["of"], tuple(one["rows"]), one["by_reason"])) for one in lost if one["rows"]]
    found += [("Refused: ", sentence) for sentence in dict.fromkeys(sentences)]
    if "examples" in run:
        found.append(("Times of an example: ", run["examples"]))
    for head, text in found:
        yield Text.assemble((head, "bold red"), text)
    if found:
        yield Text()


def _varied(free: Mapping[str, Any] | None) -> list[str]:
    if not free:
        return []
    if free["spread"] is None:
        return ["each seed draws durations from those of the run"]
    return [f"each seed takes recorded durations times exp({free['spread']:g} Z), Z standard normal"]


def _repeats(repeats: Mapping[str, Any] | None) -> list[str]:
    return [f"repeats of each other: {', '.join(repeats['runs'])}"] if repeats else []


def _forced(forced: Mapping[str, Any], repeats: Mapping[str, Any] | None) -> Iterable[RenderableType]:
    columns = ["measured", *(["repeats"] if repeats else []), "predicted", "error", "LRU", "error"]
    rows = table("Workers and times as recorded", *columns)
    for name, text in LABELS.items():
        numbers = forced["numbers"][name]
        known = numbers["measured"] is not None and (numbers["measured"] or numbers["predicted"])
        if known and name not in RATIOS:
            rows.add_row(
                text,
                words.count(numbers["measured"]),
                *([spread(name, repeats)] if repeats else []),
                words.count(numbers["predicted"]),
                error(numbers["error"]),
                words.count(numbers["baseline"]),
                error(numbers["baseline_error"]),
            )
    yield rows
    agreement = forced["agreement"]
    if agreement["compared"]:
        yield Text()
        yield Text(
            f"Engine's cached tokens right for {agreement['right']} of "
            f"{exactly(agreement['compared'], 'request')}, "
            f"by the LRU for {agreement['baseline_right']}"
        )
        if agreement["misses"]:
            yield _misses(agreement["misses"])
    for stage, choices in forced["choices"].items():
        yield Text(
            f"Of {choices['logged']} {stage} choices {choices['cheapest']} are the cheapest here too, "
            f"{choices['equal_costs']} with all costs as logged"
        )
    if forced["held_blocks"]:
        yield Text()
        yield _held(forced["held_blocks"])


def _misses(misses: Sequence[Mapping[str, Any]]) -> Table:
    rows = table("Worst misses: row", "session", "worker", "sent at", "prompt", "measured", "predicted")
    for miss in misses[:MISSES]:
        rows.add_row(
            words.count(miss["row"]),
            miss["session"] or words.MISSING,
            miss["worker"] or words.MISSING,
            words.seconds(miss["sent_s"]),
            *(words.count(miss[f"{name}_tokens"]) for name in ("prompt", "measured", "predicted")),
        )
    return rows


def _held(held: Sequence[Mapping[str, Any]]) -> Table:
    rows = table("Blocks held in GPU memory", "measured at end", "predicted", "same prompt blocks", "mean")
    for worker in held:
        rows.add_row(
            worker["worker"],
            words.count(worker["measured_at_end"]),
            words.count(worker["predicted_at_end"]),
            f"{words.count(worker['same_at_end'])} of {words.count(worker['prompt_blocks_at_end'])}",
            words.percent(worker["mean_share_same"]),
        )
    return rows


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
            words.count(numbers.get("measured", free and free["measured"])),
            error(numbers.get("error")),
            error(numbers.get("baseline_error")),
            f"{agreement['right']}/{agreement['compared']}" if agreement["compared"] else words.MISSING,
            f"{words.count(free['low'])} to {words.count(free['high'])}" if free else words.MISSING,
            inside(free["inside"]) if free else words.MISSING,
        )
    return rows
