"""The hash ids of many prompts, as runs of successive ones where they are.

Prompts of agents have thousands of ids, nearly all of them numbered on from one another; public files were
renumbered that way. What is no run, as hashes of 64 bits, is kept as it is.
"""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SHORT = 16
"""Ids in a row that are not worth a look."""


class HashIds:
    """Lists of unsigned 64-bit numbers by position; each may get one more at its end."""

    __slots__ = ("_ends", "_has_end", "_n_runs", "_starts", "_words", "counts")

    def __init__(self) -> None:
        self.counts = array("q")
        """How many ids each has."""
        self._words = array("Q")
        """Ids, or the first and the number of each run."""
        self._starts = array("q")
        self._n_runs = array("i")
        """0: the ids as they are."""
        self._ends = array("Q")
        self._has_end = array("b")

    def __len__(self) -> int:
        return len(self.counts)

    def append(self, ids: "array[int]") -> None:
        """Add a list."""
        self._starts.append(len(self._words))
        self.counts.append(len(ids))
        firsts = _firsts(ids) if len(ids) >= SHORT else None
        if firsts is None:
            self._n_runs.append(0)
            self._words.extend(ids)
            return
        self._n_runs.append(len(firsts))
        runs = np.empty((len(firsts), 2), np.uint64)
        runs[:, 0] = np.frombuffer(ids, np.uint64)[firsts]
        runs[:, 1] = np.diff(firsts, append=len(ids))
        self._words.frombytes(runs.tobytes())

    def get(self, number: int) -> "array[int]":
        """Return a list."""
        start, count, n_runs = self._starts[number], self.counts[number], self._n_runs[number]
        if n_runs == 0:
            found = self._words[start : start + count]
        else:
            found = array("Q")
            runs = self._words[start : start + 2 * n_runs]
            found.frombytes(_expanded(np.frombuffer(runs, np.uint64).reshape(-1, 2))[:count].tobytes())
        if number < len(self._has_end) and self._has_end[number]:
            found.append(self._ends[number])
        return found

    def firsts(self) -> NDArray[np.uint64]:
        """Return the first id of each list; of one that is empty, whatever follows."""
        words = np.frombuffer(self._words, np.uint64)
        starts = np.frombuffer(self._starts, np.int64)
        return words[np.minimum(starts, len(words) - 1)] if len(words) else np.zeros(len(starts), np.uint64)

    def cut(self, number: int, count: int) -> None:
        """Leave a list its first so many ids."""
        self.counts[number] = count

    def give_ends(self, numbers: NDArray[np.intp]) -> None:
        """Give these lists one more id each, which no list has."""
        self._ends = array("Q", bytes(8 * len(self)))
        self._has_end = array("b", bytes(len(self)))
        np.frombuffer(self._ends, np.uint64)[numbers] = self._unused(len(numbers))
        np.frombuffer(self._has_end, np.int8)[numbers] = 1

    def _unused(self, n: int) -> NDArray[np.uint64]:
        """Return the `n` least numbers that are no id."""
        words = np.frombuffer(self._words, np.uint64)
        starts = np.frombuffer(self._starts, np.int64)
        n_runs = np.frombuffer(self._n_runs, np.int32).astype(np.int64)
        coded = np.zeros(len(words), bool)
        for number in np.flatnonzero(n_runs).tolist():
            coded[starts[number] : starts[number] + 2 * n_runs[number]] = True
        runs, plain = words[coded].reshape(-1, 2), np.unique(words[~coded])
        first = np.concatenate([runs[:, 0], plain])
        last = np.concatenate([runs[:, 0] + runs[:, 1] - np.uint64(1), plain])
        order = np.argsort(first, kind="stable")
        found: list[NDArray[np.uint64]] = []
        free, missing = 0, n
        for low, high in zip(first[order].tolist(), np.maximum.accumulate(last[order]).tolist(), strict=True):
            if missing == 0:
                break
            take = min(max(low - free, 0), missing)
            if take:
                found.append(np.arange(free, free + take, dtype=np.uint64))
                missing -= take
            free = max(free, high + 1)
        found.append(np.arange(free, free + missing, dtype=np.uint64))
        return np.concatenate(found)


def _firsts(ids: "array[int]") -> NDArray[np.intp] | None:
    """Return where runs begin; None if they would take more room than the ids."""
    words = np.frombuffer(ids, np.uint64)
    breaks = np.flatnonzero((words[1:] != words[:-1] + np.uint64(1)) | (words[1:] == 0))
    if 2 * (len(breaks) + 1) > len(ids):
        return None
    return np.concatenate([np.zeros(1, np.intp), breaks + 1])


def _expanded(runs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the ids of runs, each a first id and a number."""
    counts = runs[:, 1].astype(np.int64)
    before = np.cumsum(counts) - counts
    n = int(counts.sum())
    return np.arange(n, dtype=np.uint64) + np.repeat(runs[:, 0] - before.astype(np.uint64), counts)


def from_runs(runs: Sequence[tuple[int, int]]) -> "array[int]":
    """Return the ids of runs, each a first id and a number."""
    found = array("Q")
    if runs:
        found.frombytes(_expanded(np.array(runs, np.uint64)).tobytes())
    return found
