"""Threads of hosts that do one thing at a time: what they take in keeps waiting what they would pass on."""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray


class HostThread:
    """One thread: prompts and tokens have their turn in the order in which they come; tokens take no time.

    Args:
        s_per_token: seconds for each token of a prompt.
    """

    __slots__ = ("_came_s", "_done_s", "s_per_token")

    def __init__(self, s_per_token: float) -> None:
        self.s_per_token = s_per_token
        self._came_s: list[float] = []
        """When each prompt came, in order,"""
        self._done_s: list[float] = []
        """and when it was done with."""

    def take(self, tokens: int, now_s: float) -> float:
        """Take a prompt now; return when that is done, after all that came before it."""
        if not self.s_per_token:
            return now_s
        begins_s = max(now_s, self._done_s[-1]) if self._done_s else now_s
        done_s = begins_s + self.s_per_token * tokens
        self._came_s.append(now_s)
        self._done_s.append(done_s)
        return done_s

    def passed_s(self, time_s: float) -> float:
        """Return when what comes at a time is passed on: before a prompt that comes at that very time.

        Final when that time has come.
        """
        before = bisect_left(self._came_s, time_s)
        return max(time_s, self._done_s[before - 1]) if before else time_s

    def all_passed_s(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `passed_s` of many ascending times."""
        if not self._came_s:
            return times_s
        before = np.searchsorted(np.array(self._came_s), times_s, side="left")
        done_s = np.array([-np.inf, *self._done_s])
        passed_s: NDArray[np.float64] = np.maximum(times_s, done_s[before])
        return passed_s
