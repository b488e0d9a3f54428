"""Rows that hold what a turn adds, as full prompts: AIPerf's `mooncake_trace`, Dynamo's `mooncake-delta`.

The prompt of a turn is the prompt before, the answer to it, and what the row adds. Answers are made while the
trace runs, so that sessions share no more than their first prompts, and what one turn of a session sent,
later ones repeat.
"""

from array import array

from sim.workload.hash_ids import HashIds
from sim.workload.rows import NO_ROW, Rows

GRAIN_TOKENS = 64
"""Prompts do not end where chunks do: finer ids lose less of what a turn repeats."""


def to_full_prompts(rows: Rows, chunk_tokens: int) -> int:
    """Let every row hold its full prompt; return how many tokens a hash id stands for then."""
    grain = GRAIN_TOKENS if chunk_tokens % GRAIN_TOKENS == 0 else chunk_tokens
    first_ids = _Ids(chunk_tokens, grain)
    ids, lengths = HashIds(), array("q")
    for row in range(len(rows)):
        before, added = rows.before[row], rows.input_length[row]
        if before == NO_ROW:
            lengths.append(added)
            ids.append(first_ids.of(rows.hash_ids(row), added))
        else:
            kept = lengths[before] // grain
            lengths.append(lengths[before] + max(rows.output_length[before], 1) + added)
            prompt = ids.get(before)[:kept]
            prompt.extend(first_ids.fresh(-(-lengths[row] // grain) - kept))
            ids.append(prompt)
    rows.ids, rows.input_length = ids, lengths
    return grain


class _Ids:
    """Ids of the finer chunks, each of one place in a chunk of the file, or of a session's own."""

    def __init__(self, chunk_tokens: int, grain: int) -> None:
        self._chunk, self._grain = chunk_tokens, grain
        self._first: dict[tuple[int, int], int] = {}
        """The first finer id of a chunk of so many tokens: a shorter one is another text."""
        self._next = 0

    def of(self, chunks: "array[int]", tokens: int) -> "array[int]":
        """Return the ids of a prompt."""
        found = array("Q")
        for chunk in chunks:
            size = min(self._chunk, tokens)
            tokens -= size
            first = self._first.get((chunk, size))
            n = -(-size // self._grain)
            if first is None:
                first = self._first[chunk, size] = self._next
                self._next += n
            found.extend(range(first, first + n))
        return found

    def fresh(self, n: int) -> range:
        """Return so many ids that nothing had before."""
        self._next += n
        return range(self._next - n, self._next)
