"""Two runs in one chart, or one table: latencies, causes, recomputation turn by turn, sessions."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sim.base import words
from sim.report.causes import Bars, stacked_bars
from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
from sim.report.scales import Scale, count_tick, percent_tick
from sim.report.two import MARKS
from sim.results.labels import CAUSE_LABELS

STYLES = ("level first", "level second")
MOST_SESSIONS = 60
_HEIGHT = 190.0


def causes_of_two(summaries: Sequence[dict[str, Any]]) -> Chart | None:
    """Return recomputed tokens by cause, a bar a run; None if nothing was recomputed in either."""
    tables = [summary["prefill"]["by_cause"] for summary in summaries]
    causes = [name for name in CAUSE_LABELS if any(table.get(name) for table in tables)]
    if not causes:
        return None
    tokens = [[table.get(name, 0) for name in causes] for table in tables]
    sums = [words.count(sum(row)) for row in tokens]
    says = f"Recomputed tokens: {sums[0]} in A, {sums[1]} in B."
    names = [(mark, f"run {mark}") for mark in MARKS]
    about = Bars("chart-causes", "Recomputed tokens, by cause", says, "run")
    return stacked_bars(about, causes, names, tokens)


def recomputation_by_turn(requests: Sequence[pd.DataFrame]) -> Chart | None:
    """Return how much of prompts was recomputed at each turn; None if nothing was computed in either."""
    shares = [_by_turn(frame) for frame in requests]
    turns = sorted({turn for share in shares for turn in share})
    if not turns:
        return None
    most = max(value for share in shares for value in share.values())
    says = "Of the prompt tokens of all sessions at that turn, those computed although computed before."
    x = Scale(0.0, float(turns[-1] + 1), LEFT, WIDTH - RIGHT)
    y = Scale(0.0, most or 1.0, _HEIGHT - BOTTOM, TOP)
    drawing = Drawing("chart-turns", "Recomputation, turn by turn", says, _HEIGHT)
    drawing.y_axis(y, percent_tick)
    for share, style in zip(shares, STYLES, strict=True):
        if share:
            places = [(x(float(turn)), y(value)) for turn, value in share.items()]
            drawing.stairs(places, x(float(max(share) + 1)), style)
    drawing.x_axis(x, lambda turn: count_tick(turn) if turn == int(turn) else "", y(0))
    rows = [[str(turn), *(words.percent(share.get(turn)) for share in shares)] for turn in turns]
    return drawing.chart(DataTable(("turn", *MARKS), rows))


def _by_turn(requests: pd.DataFrame) -> dict[int, float]:
    computed = requests[requests["first_scheduled_s"].notna()]
    sums = computed.groupby("turn")[["recomputed_tokens", "prompt_tokens"]].sum()
    shares = sums["recomputed_tokens"] / sums["prompt_tokens"]
    return {int(turn): float(share) for turn, share in shares.items() if pd.notna(share)}  # type: ignore[call-overload]


def session_table(requests: Sequence[pd.DataFrame]) -> tuple[DataTable, int]:
    """Return on how many workers each session was in either run, and what it recomputed of its prompts.

    Sessions of which most was recomputed in one run and not in the other come first; how many others are left
    out comes with the table.
    """
    both = [_sessions(frame) for frame in requests]
    names = dict.fromkeys([*both[0], *both[1]])

    def apart(name: str) -> float:
        shares = [side[name][1] if name in side else 0.0 for side in both]
        return abs(shares[0] - shares[1])

    order = sorted(names, key=lambda name: -apart(name))
    rows = []
    for name in order[:MOST_SESSIONS]:
        workers = [words.count(side[name][0]) if name in side else words.MISSING for side in both]
        shares = [words.percent(side[name][1]) if name in side else words.MISSING for side in both]
        rows.append([name, *workers, *shares])
    columns = ("session", "workers, A", "workers, B", "recomputed, A", "recomputed, B")
    return DataTable(columns, rows), len(order) - len(rows)


def _sessions(requests: pd.DataFrame) -> dict[str, tuple[int, float]]:
    computed = requests[requests["first_scheduled_s"].notna()]
    found = {}
    for name, rows in computed.groupby("session"):
        prompt = int(rows["prompt_tokens"].sum())
        share = int(rows["recomputed_tokens"].sum()) / prompt if prompt else 0.0
        found[str(name)] = (int(rows["worker"].nunique()), share)
    return found
