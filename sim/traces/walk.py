"""One pass over a trace: for every request how long it is, what of it was there before, and when it leaves.

Reuse is that of an infinite cache: tokens of the longest prefix, in whole chunks, that an earlier request's
prompt has, a partial last chunk if all of it is the same. Memory is that of the distinct chunks and of the
last prompts of sessions that go on.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns
from sim.workload.answers import answers_of
from sim.workload.request import Trace

FIRST = -1
"""Stands where a first turn has nothing before it."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Walk:
    """The requests of a trace in columns, in its order."""

    session: Numbers
    """Number of its session, in order of first appearance."""
    turn: Numbers
    before: Numbers
    """Index of the turn before, `FIRST` without one."""
    prompt_tokens: Numbers
    output_tokens: Numbers
    required_tokens: Numbers
    """Tokens of the prompt behind the longest prefix that an earlier prompt has."""
    kept_tokens: Numbers
    """Leading tokens, in whole chunks, that it has in common with the turn before; `FIRST` without one."""
    answer_tokens: Numbers
    """Tokens of the prompt that are an earlier answer, of traces whose prompts hold any."""
    timestamp_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    """nan where there is none."""
    chunk_tokens: int

    @property
    def hit_tokens(self) -> Numbers:
        """Tokens that an earlier prompt has."""
        return self.prompt_tokens - self.required_tokens

    @property
    def later(self) -> NDArray[np.bool_]:
        """Which requests have a turn before them."""
        later: NDArray[np.bool_] = self.before != FIRST
        return later

    @property
    def ideal_hit(self) -> float | None:
        """The share of prompt tokens that an infinite cache hits."""
        total = int(self.prompt_tokens.sum())
        return int(self.hit_tokens.sum()) / total if total else None


def walk(trace: Trace) -> Walk:
    """Return what one pass over a trace finds."""
    left = Counter(request.session for request in trace.requests)
    table = PrefixTable(trace.chunk_tokens, trace.chunk_tokens)
    answers = answers_of(trace, None)
    numbers: dict[str, int] = {}
    previous: dict[str, tuple[int, array[int]]] = {}
    columns = [array("q") for _ in range(8)]
    times = array("d"), array("d")
    for request in trace.requests:
        ids = as_ids(request.chunks)
        before, kept = FIRST, FIRST
        if request.session in previous:
            before, ids_before = previous.pop(request.session)
            full = min(columns[3][before], request.prompt_tokens) // trace.chunk_tokens
            kept = common(ids_before, ids, full) * trace.chunk_tokens
        left[request.session] -= 1
        if left[request.session]:
            previous[request.session] = request.index, ids
        required = table.add(ids, request.prompt_tokens).required_tokens
        answer = answers.get(request.index)
        row = (
            numbers.setdefault(request.session, len(numbers)),
            request.turn,
            before,
            request.prompt_tokens,
            request.output_tokens,
            required,
            kept,
            answer.end - answer.start if answer else 0,
        )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        times[0].append(nan if request.timestamp_s is None else request.timestamp_s)
        times[1].append(nan if request.delay_s is None else request.delay_s)
    session, turn, before_each, prompt, output, required_of, kept_of, answered = (
        np.frombuffer(column, np.int64) for column in columns
    )
    timestamp_s, delay_s = (np.frombuffer(column, np.float64) for column in times)
    return Walk(
        session,
        turn,
        before_each,
        prompt,
        output,
        required_of,
        kept_of,
        answered,
        timestamp_s,
        delay_s,
        trace.chunk_tokens,
    )


def as_ids(chunks: Sequence[int]) -> "array[int]":
    """Return hash ids as unsigned 64-bit numbers."""
    if isinstance(chunks, BlockRuns):
        return array("Q", chunks.words())
    return chunks if isinstance(chunks, array) and chunks.typecode == "Q" else array("Q", chunks)


def common(some: "array[int]", others: "array[int]", most: int) -> int:
    """Return how many of the first `most` ids are the same from the start on."""
    same = np.frombuffer(some, np.uint64)[:most] == np.frombuffer(others, np.uint64)[:most]
    return most if same.all() else int(same.argmin())
