"""Answers as the client reads them: when each token was made becomes when its chunk is there."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.cluster.hosts import Hosts

NO_GAPS: Final = np.empty(0)


class Streams:
    """The tokens of requests that have not ended. What keeps them on their way is known when they end."""

    def __init__(self, hosts: Hosts) -> None:
        self.joined = 0
        """Tokens, of all that have ended, that came in one chunk with the token before them."""
        self._hosts = hosts
        self._made: dict[int, list[tuple[int, NDArray[np.float64]]]] = {}
        """By request: the worker, and when it made some tokens."""

    def made(self, request: int, worker: int, times_s: Sequence[float] | NDArray[np.float64]) -> None:
        """A worker made tokens of a request, one at each of these times."""
        self._made.setdefault(request, []).append((worker, np.asarray(times_s)))

    def ended(self, request: int) -> NDArray[np.float64]:
        """A request has ended: return the gaps between its chunks, in seconds."""
        made = self._made.pop(request, None)
        if made is None:
            return NO_GAPS
        passed_s: list[NDArray[np.float64]] = []
        for worker in dict.fromkeys(worker for worker, _ in made):
            times_s = np.concatenate([times for other, times in made if other == worker])
            passed_s.append(self._passed_s(worker, times_s))
        read_s = self._hosts.client.all_passed_s(np.sort(np.concatenate(passed_s)) + self._hosts.way_s)
        gaps_s: NDArray[np.float64] = np.diff(read_s)
        return gaps_s

    def _passed_s(self, worker: int, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return when chunks leave the process of a worker."""
        passed_s = self._hosts.relays[worker].all_passed_s(times_s)
        if not self._hosts.coalesce:
            return passed_s
        joins = (passed_s[1:] == passed_s[:-1]) & (passed_s[1:] > times_s[1:])
        self.joined += int(joins.sum())
        chunks_s: NDArray[np.float64] = passed_s[np.concatenate([[True], ~joins])]
        return chunks_s
