"""What happens to the requests of a live front end, and in which order it may have happened.

Requests take as long as their workers were told to; when the front end saw of it is not recorded. What lies
within `NEAR_S` of a choice may have come before or after it. Where a choice does not agree as things were
told, what comes so near is cut off before each of its events in turn, and such choices are counted.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import count
from typing import Self, TypeVar

from sim.router.candidates import Candidates
from tests.vectors.router_tally import LOGIT_WITHIN, Tally

NEAR_S = 0.035
"""What happens so close to a choice may have come before or after it."""
REPORTED_WITHIN_S = 1e-3
"""What has happened by a choice has been reported by then too."""
PRINTED_WITHIN = 0.5e-3 + 1e-9
"""The logit of a pinned choice is printed with three decimals."""
Act = Callable[[float], None]
"""Is told when it happens. It is copied with what it acts on: a method, or a `partial` of one."""


class Underway:
    """A front end of which something is still to happen to its requests."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Act]] = []
        self._numbers = count()

    def at(self, time_s: float, act: Act) -> None:
        """Let something happen at a time."""
        self._due.append((time_s, next(self._numbers), act))

    def proceed(self, until_s: float, now_s: float) -> None:
        """Let happen what is due until a time, at the latest a moment ago."""
        due = sorted((each for each in self._due if each[0] <= until_s), key=lambda each: each[:2])
        self._due = [each for each in self._due if each[0] > until_s]
        for due_s, _, act in due:
            act(min(due_s, now_s - REPORTED_WITHIN_S))

    def as_it_may_be(self, now_s: float) -> Iterator[Self]:
        """Yield it as it is now, then with more and more of what is near in the past."""
        near = sorted({each[0] for each in self._due if abs(each[0] - now_s) < NEAR_S})
        before = deepcopy(self) if near else self
        self.proceed(now_s, now_s)
        yield self
        for until_s in [now_s - NEAR_S, *near] if near else ():
            other = deepcopy(before)
            other.proceed(until_s, now_s)
            yield other


Front = TypeVar("Front", bound=Underway)


def decided(
    front: Front,
    now_s: float,
    unlike: Callable[[Front], Iterable[str]],
    tally: Tally,
    *,
    kind: str,
    where: str,
) -> Front:
    """Compare a choice with the front end as it may have been then, count it, and return what fits best."""
    tried: list[tuple[Front, list[str]]] = []
    for may_be in front.as_it_may_be(now_s):
        tried.append((may_be, [*unlike(may_be)]))
        if not tried[-1][1]:
            break
    best, found = min(tried, key=lambda each: len(each[1]))
    tally.decided(f"decisions of {kind}", where, found)
    if len(tried) > 1:
        tally.compared(f"of these decided by what came within {NEAR_S * 1000:.0f} ms", where, found)
    return best


def unlike_choice(terms: Candidates, rank: int, logit: float, *, pinned: bool = False) -> Iterator[str]:
    """Compare a choice, and the cost of who was chosen."""
    if rank not in terms.cheapest():
        yield f"chosen: recorded {rank}, ours one of {terms.cheapest()}"
    costs = {each.rank: each.cost for each in terms}
    if rank in costs and abs(costs[rank] - logit) > (PRINTED_WITHIN if pinned else LOGIT_WITHIN):
        yield f"selected_logit: recorded {logit!r}, ours {costs[rank]!r}"
