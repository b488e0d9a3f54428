"""Time never runs back: not as the parts tell it, and not in the life of a request."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InvariantError
from sim.results.rows import Table

RULE = "time never runs back"

LIFE = (
    "due_s",
    "send_s",
    "routed_s",
    "queued_s",
    "first_scheduled_s",
    "prefilled_s",
    "decode_queued_s",
    "pull_start_s",
    "pull_end_s",
    "first_token_s",
    "end_s",
)
"""What happens to a request, in this order; columns of the `requests` table."""

FIRST = ("due_s", "send_s", "routed_s", "queued_s", "first_scheduled_s", "first_token_s", "end_s")
LAST = (*LIFE[: LIFE.index("first_token_s")], "end_s")
"""Of one that was tried again: what happened for the first time, and after that what happened to it last."""


class Times:
    """The latest time that was told, by the front door and by each worker."""

    def __init__(self, workers: int) -> None:
        self._now_s = 0.0
        self._worker_s = [0.0] * workers

    def front_door(self, now_s: float) -> None:
        """Something happens at the front door or in the client."""
        if not now_s >= self._now_s:
            raise InvariantError(RULE, f"it was {self._now_s!r} s before", now_s=now_s)
        self._now_s = now_s

    def worker(self, worker: int, now_s: float) -> None:
        """A worker says what it does at this time; what was fast-forwarded it says later, but in order."""
        if not now_s >= self._worker_s[worker]:
            earlier_s = self._worker_s[worker]
            raise InvariantError(RULE, f"it was {earlier_s!r} s before", worker=worker, now_s=now_s)
        self._worker_s[worker] = now_s

    def outputs(self, worker: int, ends_s: NDArray[np.float64]) -> None:
        """A worker processed an output at each of these times; others of its events may be later already."""
        if (np.diff(ends_s) < 0).any():
            raise InvariantError(RULE, "outputs of a run of steps", worker=worker, now_s=ends_s.item(-1))


def check_lives(table: Table) -> None:
    """Compare the times of every request with each other, as far as it came."""
    retries = table.values("retries")
    again = retries.measured & (retries.values > 0)
    _check_order(table, LIFE, ~again)
    _check_order(table, FIRST, again)
    _check_order(table, LAST, again)


def _check_order(table: Table, names: Sequence[str], concerned: NDArray[np.bool_]) -> None:
    """Compare times of those requests that are concerned."""
    index = table.values("index").values
    latest_s = np.full(len(index), -np.inf)
    before: Sequence[str] = ()
    for name in names:
        times_s, known = table.values(name)
        known = known & concerned
        wrong = np.flatnonzero(known & ~(times_s >= latest_s))
        if wrong.size:
            row = wrong[0]
            detail = (
                f"{name} = {times_s[row]!s}, but one of {', '.join(before)} was {latest_s[row]!s} already"
            )
            raise InvariantError(RULE, detail, request=int(index[row]), now_s=float(times_s[row]))
        latest_s = np.where(known, times_s, latest_s)
        before = (*before, name)
