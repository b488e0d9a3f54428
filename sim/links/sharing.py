"""How fast transfers go that meet on links: two rules, each a function of their routes and the bandwidths."""

from collections.abc import Callable, Sequence
from typing import Literal

Sharing = Literal["processor-sharing", "fifo"]
Route = tuple[int, ...]
"""The links that a transfer crosses, by number."""
Rates = list[tuple[float, int]]
"""For each transfer its bytes a second, and the link that holds it to that."""


def max_min_fair(routes: Sequence[Route], bandwidths: Sequence[float]) -> Rates:
    """Return rates of which none can grow without taking from one that is no larger: progressive filling.

    All rates grow together until a link is full; those on it stay as they are, the others go on.

    Args:
        routes: of the transfers.
        bandwidths: of all links, in bytes a second.
    """
    rates: Rates = [(0.0, 0)] * len(routes)
    left = list(bandwidths)
    growing = list(range(len(routes)))
    while growing:
        crossing: dict[int, int] = {}
        for transfer in growing:
            for link in routes[transfer]:
                crossing[link] = crossing.get(link, 0) + 1
        rate, full = min((left[link] / count, link) for link, count in crossing.items())
        for transfer in growing:
            if full in routes[transfer]:
                rates[transfer] = rate, full
                for link in routes[transfer]:
                    left[link] -= rate
        growing = [transfer for transfer in growing if full not in routes[transfer]]
    return rates


def first_come(routes: Sequence[Route], bandwidths: Sequence[float]) -> Rates:
    """Return the full rate for transfers that come first on all their links, and 0 for the others.

    One that waits keeps its place on all of them: nothing overtakes it, even where a link idles for that.

    Args:
        routes: of the transfers, in the order in which they came.
        bandwidths: of all links, in bytes a second.
    """
    rates: Rates = []
    taken: set[int] = set()
    for route in routes:
        blocked = next((link for link in route if link in taken), None)
        alone = min((bandwidths[link], link) for link in route)
        rates.append(alone if blocked is None else (0.0, blocked))
        taken.update(route)
    return rates


RULES: dict[Sharing, Callable[[Sequence[Route], Sequence[float]], Rates]] = {
    "processor-sharing": max_min_fair,
    "fifo": first_come,
}
