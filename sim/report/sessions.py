"""The session map: turn by turn, which worker computed a session's prompts, and how much of them again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from sim.base import words
from sim.report.names import WorkerNames

ROWS_FOR_ALL = 16
"""With so many workers at most, each has a row; of more, those that the session was on."""


class Cell(NamedTuple):
    """A turn on a worker."""

    kind: str
    """computed, decode or unserved"""
    label: str
    """What is written in it."""
    says: str
    """The same in a sentence."""
    recomputed_percent: int = 0
    """Share of the prompt."""
    computed_percent: int = 0
    """Share of the prompt that was recomputed or new; the rest was hit."""


class Row(NamedTuple):
    """A worker."""

    name: str
    short: str
    cells: list[Cell | None]
    """One for each turn; None where the session was not on this worker."""


class SessionMap(NamedTuple):
    """A session."""

    name: str
    workers: int
    """On how many its prompts were computed."""
    recomputed: str
    """Tokens."""
    share: str
    """The same as a share of all its prompt tokens."""
    turns: list[int]
    rows: list[Row]
    unserved: int
    """Turns that no worker computed."""


def costliest_first(requests: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the requests of each session in order of turns; sessions that recomputed most come first."""
    ordered = requests.sort_values("turn", kind="stable")
    sessions = ordered.groupby("session", sort=False)
    places = sessions.indices
    for session in sessions["recomputed_tokens"].sum().sort_values(ascending=False, kind="stable").index:
        yield ordered.iloc[places[session]]


def session_map(requests: pd.DataFrame, names: WorkerNames) -> SessionMap:
    """Return the map of one session from its requests, in order of turns."""
    turns = requests.to_dict("records")
    cells: dict[int, dict[int, Cell]] = {}
    for column, turn in enumerate(turns):
        if pd.notna(turn["decode_worker"]) and turn["decode_worker"] != turn["worker"]:
            cells.setdefault(turn["decode_worker"], {})[column] = _decode(turn, names)
        if pd.notna(turn["worker"]):
            cells.setdefault(turn["worker"], {})[column] = _prefill(turn, names)
    workers = range(names.count) if names.count <= ROWS_FOR_ALL else sorted(cells)
    computed = requests[requests["first_scheduled_s"].notna()]
    recomputed, prompt = int(computed["recomputed_tokens"].sum()), int(computed["prompt_tokens"].sum())
    return SessionMap(
        turns[0]["session"],
        computed["worker"].nunique(),
        words.count(recomputed),
        words.percent(recomputed / prompt if prompt else None),
        [turn["turn"] for turn in turns],
        [
            Row(
                names.long(worker),
                names.short(worker),
                [cells.get(worker, {}).get(column) for column in range(len(turns))],
            )
            for worker in workers
        ],
        len(requests) - len(computed),
    )


def _prefill(turn: dict[Any, Any], names: WorkerNames) -> Cell:
    where = f"Turn {turn['turn']} on {names.long(turn['worker'])}"
    if pd.isna(turn["first_scheduled_s"]):
        return Cell("unserved", "-", f"{where}: {turn['status']}, nothing computed.")
    prompt, recomputed, first = (
        int(turn[name]) for name in ("prompt_tokens", "recomputed_tokens", "first_tokens")
    )
    hit = int(turn["local_hit_tokens"] + turn["external_hit_tokens"])
    share = min(1.0, recomputed / prompt)
    says = (
        f"{where}: {words.count(recomputed)} of {words.count(prompt)} prompt tokens recomputed "
        f"({words.percent(share)}), {words.count(hit)} hit, {words.count(first)} new."
    )
    if pd.notna(turn["ttft_s"]):
        says += f" TTFT {words.seconds(turn['ttft_s'])}."
    percent = round(100 * share)
    return Cell("computed", str(percent), says, percent, min(100, round(100 * (share + first / prompt))))


def _decode(turn: dict[Any, Any], names: WorkerNames) -> Cell:
    where = f"Turn {turn['turn']} on {names.long(turn['decode_worker'])}"
    return Cell("decode", "D", f"{where}: decode, {words.count(turn['output_tokens'])} tokens.")
