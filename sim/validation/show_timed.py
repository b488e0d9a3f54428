"""What a person reads of free runs with simulated times, for a terminal of 100 columns."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import Any

from rich.table import Table

from sim.base import words
from sim.show.text.page_parts import table
from sim.validation.show_numbers import error, label, span

_SHOWN = ("ttft_s.p50", "ttft_s.p99", "tpot_s.p50", "e2e_s.p50", "e2e_s.p99", "recomputed_tokens")
"""Of several runs."""


def law(run: Mapping[str, Any]) -> Iterator[str]:
    """Yield what simulated step times rest on, a sentence each; nothing of a run without."""
    timed = run["timed"]
    if timed is None:
        return
    drawn = "; drawn anew with every seed" if timed["law_drawn"] else ""
    fitted = timed["fitted"]
    if fitted is None:
        yield f"{timed['law']}{drawn}"
        return
    values = ", ".join(
        f"{name} {words.seconds(found['value'])} ({span('.', found['low'], found['high'])})"
        for name, found in fitted["coefficients"].items()
    )
    yield f"step times fitted to {', '.join(fitted['runs'])}, workers as recorded: {values}{drawn}"
    off = words.number(exp(fitted["mean_error"]))
    yield f"there TTFT and E2E of a request are off by a factor of {off} (geometric mean)"
    yield "this run was fitted to" if run["fitted_to"] else "this run was held out of the fit"


def overview(runs: Sequence[Mapping[str, Any]]) -> Table:
    """Return the errors of the mean of each run, a line each, those fitted to marked."""
    rows = table("Error of the mean", *(label(name).removeprefix("Tokens ") for name in _SHOWN))
    for run in runs:
        errors = [run["timed"]["predictions"].get(name, {}).get("error") for name in _SHOWN]
        rows.add_row(run["title"] + (" (fitted to)" if run["fitted_to"] else ""), *map(error, errors))
    return rows
