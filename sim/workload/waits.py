"""Rows that wait for several others, in whatever order a file has them."""

from array import array
from pathlib import Path

from sim.base.errors import InputError
from sim.workload.rows import NO_ROW, Rows

MOST_SHOWN = 5


def check_waits(rows: Rows, path: Path) -> None:
    """Refuse rows that wait for each other in a circle.

    Raises:
        InputError: names some of them.

    """
    ranks = ranks_of_waits(rows)
    stuck = [row for row, rank in enumerate(ranks or ()) if rank < 0]
    if stuck:
        places = [rows.place(row) for row in _circle(rows, set(stuck))]
        shown = " -> ".join(
            f"line {place}" if isinstance(place, int) else place for place in places[:MOST_SHOWN]
        )
        more = f" and {len(places) - MOST_SHOWN} more" if len(places) > MOST_SHOWN else ""
        raise InputError(f"{path}: rows wait for each other in a circle: {shown}{more}")


def ranks_of_waits(rows: Rows) -> "array[int] | None":
    """Return places of rows behind all that they wait for, -1 where there is none.

    None if no row names another.
    """
    if not rows.has_waits:
        return None
    n = len(rows)
    missing, followers = array("q", bytes(8 * n)), [array("q") for _ in range(n)]
    for row in range(n):
        waits = _waits(rows, row)
        missing[row] = len(waits)
        for other in waits:
            followers[other].append(row)
    ranks = array("q", [-1]) * n
    ready = [row for row in range(n) if missing[row] == 0]
    rank = 0
    while ready:
        later: list[int] = []
        for row in ready:
            ranks[row] = rank
            rank += 1
            for follower in followers[row]:
                missing[follower] -= 1
                if missing[follower] == 0:
                    later.append(follower)
        ready = sorted(later)
    return ranks


def _waits(rows: Rows, row: int) -> tuple[int, ...]:
    before = rows.before[row]
    return rows.waits_for(row) or (() if before == NO_ROW else (before,))


def _circle(rows: Rows, stuck: set[int]) -> list[int]:
    """Return rows of which each waits for the next, and the last for the first."""
    row, seen = min(stuck), dict[int, None]()
    while row not in seen:
        seen[row] = None
        row = next(other for other in _waits(rows, row) if other in stuck)
    path = [*seen]
    return [*path[path.index(row) :], row]
