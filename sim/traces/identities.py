"""Hash ids as other readers take them: below 2^63, and one id for one text.

Here a chunk is its id and its size. Others go by the id alone, read signed 64-bit numbers, or complain about
one id at two sizes; a trace where that matters gets new ids, in the order in which they first appear.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.kv.prefix import PrefixTable
from sim.traces.walk import as_ids
from sim.workload.request import Trace

LARGEST = 2**63 - 1
_BATCH = 1 << 22
"""Ids that are looked at together."""


class Identities:
    """Gives the hash ids of a trace's requests as others can take them."""

    def __init__(self, trace: Trace) -> None:
        self._chunk_tokens = trace.chunk_tokens
        self.renumbered = not _fit(trace)
        """Whether ids are new ones."""
        self._known: dict[tuple[int, int], int] = {}

    def of(self, chunks: Sequence[int], prompt_tokens: int) -> list[int]:
        """Return the ids of a prompt."""
        if not self.renumbered:
            return as_ids(chunks).tolist()
        known, tail = self._known, prompt_tokens % self._chunk_tokens
        sizes = [0] * len(chunks)
        if tail:
            sizes[-1] = tail
        return [known.setdefault(chunk, len(known)) for chunk in zip(as_ids(chunks), sizes, strict=True)]


def _fit(trace: Trace) -> bool:
    """Whether no id is too large, and none stands for texts of several sizes."""
    full = np.empty(0, np.uint64)
    tails: dict[int, int] = {}
    for part in _parts(trace, tails):
        full = np.union1d(full, part)
    if (len(full) and full[-1] > LARGEST) or any(tail > LARGEST or size < 0 for tail, size in tails.items()):
        return False
    return not np.isin(np.fromiter(tails, np.uint64, len(tails)), full).any()


def _parts(trace: Trace, tails: dict[int, int]) -> Iterator[NDArray[np.uint64]]:
    """Yield the ids of full chunks, many at a time, but for those that begin an earlier prompt as well.

    Those of partial chunks, and their size, go into `tails`; a size of -1 says that there are several.
    """
    batch, size = [], 0
    table = PrefixTable(trace.chunk_tokens, trace.chunk_tokens)
    for request in trace.requests:
        chunks = as_ids(request.chunks)
        hit = request.prompt_tokens - table.add(chunks, request.prompt_tokens).required_tokens
        ids = np.frombuffer(chunks, np.uint64)
        tail = request.prompt_tokens % trace.chunk_tokens
        if tail:
            last = int(ids[-1])
            tails[last] = tail if tails.get(last, tail) == tail else -1
            ids = ids[:-1]
        ids = ids[hit // trace.chunk_tokens :]
        batch.append(ids)
        size += len(ids)
        if size > _BATCH:
            yield np.unique(np.concatenate(batch))
            batch, size = [], 0
    if batch:
        yield np.unique(np.concatenate(batch))
