"""Requests that are served and count in no number of a run: those of its warm-up, and its first ones.

A run that leaves some out says of each request what it is, in a last column of the table of requests, and how
many there were in its summary, as `left_out`:

- `warm_up`: what was served before the clock of the measured part started, and `first`: the first requests of
  that part. Each null, or `requests`, how many of them `completed`, their `prompt_tokens` and how many of
  those were computed, and `took_s`;
- `from_s`, `until_s`: between these times rates are counted.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.base import words
from sim.results.tables import PHASE

if TYPE_CHECKING:
    import pandas as pd

    from sim.results.rows import Table

MEASURED = "measured"
WARM_UP = "warm-up"
FIRST = "first"


def mark_phases(requests: "Table", phases: Mapping[int, str]) -> None:
    """Add the column to a table whose run left requests out, these by index."""
    if phases:
        found = [phases.get(index, MEASURED) for index in requests.values("index").values.tolist()]
        requests.add_column(PHASE, found)


def counted(requests: "Table") -> "Table":
    """Return a table without the requests that are left out."""
    if not requests.has(PHASE.name):
        return requests
    return requests.where(requests.values(PHASE.name).values == MEASURED)


def counted_rows(requests: "pd.DataFrame") -> "pd.DataFrame":
    """Return a frame of requests without those that are left out."""
    return requests[requests[PHASE.name] == MEASURED] if PHASE.name in requests else requests


def left_out(requests: "Table", begun_s: float, from_s: float, until_s: float) -> dict[str, Any]:
    """Return the table `left_out` of a summary; the measured part began at `begun_s`."""
    phases = requests.values(PHASE.name).values if requests.has(PHASE.name) else np.array([], np.object_)
    warm = phases == WARM_UP
    warm_s = requests.values("end_s").values[warm].max(initial=0.0)
    return {
        "warm_up": _sums(requests, warm, float(warm_s)),
        "first": _sums(requests, phases == FIRST, from_s - begun_s),
        "from_s": from_s,
        "until_s": until_s,
    }


def _sums(requests: "Table", where: NDArray[np.bool_], took_s: float) -> dict[str, Any] | None:
    if not where.any():
        return None
    return {
        "requests": int(where.sum()),
        "completed": int((where & (requests.values("status").values == "completed")).sum()),
        "prompt_tokens": int(requests.values("prompt_tokens").values[where].sum()),
        "computed_tokens": int(requests.values("computed_prompt_tokens").values[where].sum()),
        "took_s": took_s,
    }


def left_out_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what a person must know of what a run left out, a sentence each."""
    found = summary.get("left_out")
    if not found:
        return []
    lines = []
    if warm := found["warm_up"]:
        lines.append(
            f"left out: {_said(warm, 'warm-up request')}, before the clock of the measured part started"
        )
    if first := found["first"]:
        lines.append(f"left out: the first {_said(first, 'request')}")
        if not summary["requests"]["total"]:
            lines.append("! no request counts: all of the measured part are left out")
    return lines


def n_first(summary: Mapping[str, Any]) -> int:
    """Return how many requests of the measured part count in no number."""
    found = summary.get("left_out")
    return found["first"]["requests"] if found and found["first"] else 0


def left_out_of(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence on what several runs left out; none if they left out nothing."""
    found = [summary["left_out"] for summary in summaries if summary.get("left_out")]
    counts = [sum(part["requests"] for part in (one["warm_up"], one["first"]) if part) for one in found]
    if not any(counts):
        return []
    some = words.between(min(counts), max(counts), words.count)
    of = (
        f"in {len(found)} of {words.exactly(len(summaries), 'run')}"
        if len(found) < len(summaries)
        else "in every run"
    )
    return [f"requests served that count in no number, as warm-up or first ones, {of}: {some}"]


def _said(part: Mapping[str, Any], noun: str) -> str:
    n, completed = part["requests"], part["completed"]
    lost = f", {words.count(n - completed)} of them not completed" if completed < n else ""
    return (
        f"{words.counted(n, noun)}{lost} ({words.counted(part['prompt_tokens'], 'prompt token')}, "
        f"{words.count(part['computed_tokens'])} computed, {words.seconds(part['took_s'])})"
    )
