"""The session map: turn by turn, which worker computed a session's prompts, and how much of them again."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from sim.base import words
from sim.report.names import WorkerNames

ROWS_FOR_ALL = 16
"""With so many workers at most, each has a row; of more, those that the session was on."""
_COMPLETED = "completed"


class Cell(NamedTuple):
    """A turn on a worker."""

    kind: str
    """computed or decode; ended: nothing was computed, and the request was not completed"""
    label: str
    """What is written in it."""
    says: str
    """The same in a sentence."""
    recomputed_percent: int = 0
    """Share of the prompt."""
    computed_percent: int = 0
    """Share of the prompt that was recomputed or new; the rest was hit."""


class Ending(NamedTuple):
    """Requests that were not completed, of a kind."""

    status: str
    letter: str
    """What marks them in a map."""
    n: int


class Row(NamedTuple):
    """A worker, or no worker."""

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
    endings: list[Ending]


def endings(requests: pd.DataFrame) -> list[Ending]:
    """Return how many requests were not completed, by what became of them; most first."""
    counts = requests["status"].value_counts()
    found = dict(zip(map(str, counts.index), counts.tolist(), strict=True))
    return [Ending(status, _letter(status), n) for status, n in found.items() if status != _COMPLETED]


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
    cells: dict[int | None, dict[int, Cell]] = {}
    for column, turn in enumerate(turns):
        if pd.notna(turn["decode_worker"]) and turn["decode_worker"] != turn["worker"]:
            cells.setdefault(turn["decode_worker"], {})[column] = _decode(turn, names)
        worker = turn["worker"] if pd.notna(turn["worker"]) else None
        where = "no worker" if worker is None else names.long(worker)
        cells.setdefault(worker, {})[column] = _prompt(turn, f"Turn {turn['turn']} on {where}")
    outside = cells.pop(None, None)
    workers = (
        range(names.count)
        if names.count <= ROWS_FOR_ALL
        else sorted(worker for worker in cells if worker is not None)
    )
    rows = [
        _row(names.long(worker), names.short(worker), cells.get(worker, {}), len(turns)) for worker in workers
    ]
    if outside is not None:
        rows.append(_row("no worker", "none", outside, len(turns)))
    computed = requests[requests["first_scheduled_s"].notna()]
    recomputed, prompt = int(computed["recomputed_tokens"].sum()), int(computed["prompt_tokens"].sum())
    return SessionMap(
        turns[0]["session"],
        computed["worker"].nunique(),
        words.count(recomputed),
        words.percent(recomputed / prompt if prompt else None),
        [turn["turn"] for turn in turns],
        rows,
        len(requests) - len(computed),
        endings(requests),
    )


def _row(name: str, short: str, cells: Mapping[int, Cell], turns: int) -> Row:
    return Row(name, short, [cells.get(column) for column in range(turns)])


def _letter(status: str) -> str:
    return status[:1].upper()


def _outcome(turn: dict[Any, Any]) -> str:
    """Return what became of a request that was not completed, in words; "" of one that was."""
    if turn["status"] == _COMPLETED or pd.isna(turn["status"]):
        return ""
    reason = "" if pd.isna(turn["reason"]) or not turn["reason"] else f" ({turn['reason']})"
    return f"{turn['status']}{reason}"


def _prompt(turn: dict[Any, Any], where: str) -> Cell:
    outcome = _outcome(turn)
    if pd.isna(turn["first_scheduled_s"]):
        letter = _letter(turn["status"]) if outcome else "-"
        return Cell("ended", letter, f"{where}: {outcome or turn['status']}, nothing computed.")
    prompt, recomputed, first = (
        int(turn[name]) for name in ("prompt_tokens", "recomputed_tokens", "first_tokens")
    )
    hit = int(turn["local_hit_tokens"] + turn["external_hit_tokens"])
    share = min(1.0, recomputed / prompt)
    says = (
        f"{where}: {words.count(recomputed)} of {words.counted(prompt, 'prompt token')} recomputed "
        f"({words.percent(share)}), {words.count(hit)} hit, {words.count(first)} new."
    )
    if pd.notna(turn["ttft_s"]):
        says += f" TTFT {words.seconds(turn['ttft_s'])}."
    label = str(percent := round(100 * share))
    if outcome:
        says += f" Then {outcome}."
        label += f" {_letter(turn['status'])}"
    return Cell("computed", label, says, percent, min(100, round(100 * (share + first / prompt))))


def _decode(turn: dict[Any, Any], names: WorkerNames) -> Cell:
    where = f"Turn {turn['turn']} on {names.long(turn['decode_worker'])}"
    return Cell("decode", "D", f"{where}: decode, {words.counted(turn['output_tokens'], 'token')}.")
