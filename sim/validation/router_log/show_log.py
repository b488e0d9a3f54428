"""What a person reads of a router's log whose costs were computed again, for a terminal of 100 columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.show.text.page_parts import table

MISMATCHES = 12
"""Mismatches that are printed; JSON has them all."""
_OVERLAP = {"logged": "logged overlap", "predicted": "predicted overlap"}
_TERMS = {
    "prefill load scale": "scale",
    "booked prefill tokens": "prefill",
    "cached blocks": "overlap",
    "overlap credit blocks": "credit",
    "decode blocks": "decode",
    "active request cost": "requests",
    "cost": "cost",
}
_UNITS = {
    "booked prefill tokens": "prefill tokens booked",
    "cached blocks": "blocks of the prompt cached",
    "decode blocks": "decode blocks",
}


def render_log(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the parts of the comparison (`router_log` of `sim.validation.validate.validate`)."""
    formula = found["formula"]
    share = words.percent(formula["right"] / formula["lines"])
    yield Text(
        f"Of {words.count(formula['lines'])} logged costs {words.count(formula['right'])} are what the terms "
        f"in their lines come to ({share})"
    )
    yield Text()
    yield _books(found["books"])
    logged, predicted = (_in_order(found["books"], overlap) for overlap in _OVERLAP)
    if logged:
        yield Text()
        yield _first("logged", *logged[0])
    new = [one for one in predicted if one[1]["time_s"] not in {mismatch["time_s"] for _, mismatch in logged}]
    if new:
        yield Text()
        yield _first("predicted", *new[0])
    if logged:
        yield Text()
        yield _partings(logged)


def _in_order(books: Sequence[Mapping[str, Any]], overlap: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (stage, mismatch) of all stages, in order of time."""
    found = [
        (one["leg"], mismatch) for one in books if one["overlap"] == overlap for mismatch in one["partings"]
    ]
    return sorted(found, key=lambda row: row[1]["time_s"])


def _books(books: Sequence[Mapping[str, Any]]) -> Table:
    rows = table("Books kept anew", "choices", "as logged", "cheapest", "others differ in")
    rows.columns[-1].justify, rows.columns[-1].no_wrap = "left", False
    for one in books:
        terms = ", ".join(f"{n} {_TERMS[term]}" for term, n in one["by_term"].items())
        rows.add_row(
            f"{one['leg']}, {_OVERLAP[one['overlap']]}",
            words.count(one["choices"]),
            f"{words.count(one['equal'])} ({words.percent(one['equal'] / one['choices'])})",
            words.count(one["cheapest"]),
            terms or words.MISSING,
        )
    return rows


def _first(overlap: str, stage: str, mismatch: Mapping[str, Any]) -> Text:
    """Say in a sentence where log and books part first, in which term."""
    difference, nearest = mismatch["differences"][0], mismatch["differences"][0]["nearest"]
    session = f" of session {mismatch['session']}" if mismatch["session"] else ""
    term = difference["term"]
    cause = ""
    if nearest:
        cause = (
            f"; the {nearest['moment']} of row {nearest['row']} there was seen "
            f"{words.seconds(abs(nearest['after_s']))} {'later' if nearest['after_s'] > 0 else 'earlier'}"
        )
    where = f"they {'also ' if overlap == 'predicted' else 'first '}part"
    return Text(
        f"With the {_OVERLAP[overlap]} {where} at {words.seconds(mismatch['time_s'])}, at the {stage} choice "
        f"for row {mismatch['row']}{session}: {difference['worker']} has {_value(difference['logged'])} "
        f"{_UNITS.get(term, term)} in the log and {_value(difference['rebuilt'])} in the books{cause}."
    )


def _partings(mismatches: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    more = f", {len(mismatches) - MISMATCHES} more in JSON" if len(mismatches) > MISMATCHES else ""
    rows = table(f"Logged overlap{more}", "at", "worker", "term", "log", "books", "nearest there", "after")
    rows.columns[3].justify = rows.columns[6].justify = "left"
    for stage, mismatch in mismatches[:MISMATCHES]:
        for difference in mismatch["differences"]:
            nearest = difference["nearest"]
            rows.add_row(
                f"row {mismatch['row']}, {stage}",
                words.seconds(mismatch["time_s"]),
                difference["worker"],
                _TERMS[difference["term"]],
                _value(difference["logged"]),
                _value(difference["rebuilt"]),
                f"{nearest['moment']}, row {nearest['row']}" if nearest else words.MISSING,
                words.seconds(nearest["after_s"]) if nearest else words.MISSING,
            )
    return rows


def _value(value: float) -> str:
    return words.count(value) if float(value).is_integer() else f"{value:,.3f}"
