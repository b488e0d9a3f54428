"""Calls of a log as rows: hash ids are made from what each shares with which earlier one.

A prompt has the ids of the full chunks that it shares with its parent's, then ids of its own; the part of a
chunk at its end has one that no other prompt has. Ids are counters, which tell nothing of any text. Those
that one stream adds follow each other, so that a prompt is few runs of ids.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from sim.workload.calls import Call
from sim.workload.hash_ids import from_runs
from sim.workload.recorded import Recorded
from sim.workload.request import Answer
from sim.workload.row import Row
from sim.workload.rows import Rows

CHUNK_TOKENS = 64
"""That a hash id of a log stands for if nobody says."""
CLOCK_DIGITS = 6
"""Logs tell microseconds at best."""

Identity = Literal["append", "provider"]
BreakPrefix = Literal["billing-header"]


def rows_of(
    calls: Sequence[Call],
    chunk_tokens: int,
    identity: Identity = "append",
    break_prefix: BreakPrefix | None = None,
) -> Rows:
    """Return a row for every call, in the order of the list, times in seconds.

    `chunk_tokens` is how many tokens a hash id stands for. Rows wait for the rows of the calls that these
    waited for, and say which of their tokens are an answer. `identity` and `break_prefix` are those of the
    settings of a workload.
    """
    calls = with_identity(calls, identity, break_prefix)
    chains = _Chains(calls, chunk_tokens)
    rows = Rows()
    last: dict[str, int] = {}
    started_by: dict[str, str] = {}
    ended_s: list[float | None] = []
    for number, call in enumerate(calls):
        before = call.waits_for or ((last[call.stream],) if call.stream in last else ())
        if call.stream not in last and before:
            started_by[call.stream] = calls[before[0]].stream
        ready_s = [ended_s[each] for each in before]
        ended_s.append(_latest_s(call, ready_s))
        rows.append(
            Row(
                call.line,
                call.stream,
                call.name,
                call.send_s,
                _delay_s(call, ready_s),
                call.prompt_tokens,
                call.output_tokens,
                chains.ids(number),
                call.waits_for,
                _answer(call, calls),
                model=call.model,
                belongs_to=started_by.get(call.stream),
                recorded=Recorded(
                    service_s=_service_s(call),
                    ttft_s=call.ttft_s,
                    cached_tokens=call.cached_tokens,
                ),
            )
        )
        last[call.stream] = number
    return rows


def with_identity(
    calls: Sequence[Call], identity: Identity, break_prefix: BreakPrefix | None = None
) -> Sequence[Call]:
    """Return the calls, each with what it shares with another one as a setting has it."""
    if break_prefix is not None:
        return [replace(call, parent=None, kept_tokens=0, answer_tokens=0, group=None) for call in calls]
    return [_as_cached(call, calls) for call in calls] if identity == "provider" else calls


def kept_tokens(calls: Iterable[Call]) -> int:
    """Return how many tokens of all prompts an earlier one had."""
    return sum(call.kept_tokens for call in calls)


def _as_cached(call: Call, calls: Sequence[Call]) -> Call:
    """Return a call that keeps of its parent what the provider's cache gave, where that is known."""
    if call.parent is None or call.cached_tokens is None:
        return call
    parent = calls[call.parent].prompt_tokens
    kept = min(call.cached_tokens, parent, call.prompt_tokens)
    return replace(call, kept_tokens=kept, answer_tokens=call.answer_tokens if kept == parent else 0)


def _latest_s(call: Call, ready_s: Sequence[float | None]) -> float | None:
    """Return when a call and all that it waited for had ended; None where its own end is not known.

    One that was called before the answer was complete may have ended before that.
    """
    return None if call.end_s is None else max([call.end_s, *(each for each in ready_s if each is not None)])


def _delay_s(call: Call, ready_s: Sequence[float | None]) -> float | None:
    """Return how long after all that it waits for a call was sent; None where nobody says."""
    ends = [each for each in ready_s if each is not None]
    if call.delay_s is not None or call.send_s is None or not ready_s or len(ends) < len(ready_s):
        return call.delay_s
    return max(round(call.send_s - max(ends), CLOCK_DIGITS), 0.0)


def _service_s(call: Call) -> float | None:
    """Return how long the call took."""
    if call.send_s is None or call.end_s is None:
        return None
    return round(call.end_s - call.send_s, CLOCK_DIGITS)


def _answer(call: Call, calls: Sequence[Call]) -> Answer | None:
    if call.parent is None or not call.answer_tokens:
        return None
    start = calls[call.parent].prompt_tokens
    return Answer(call.parent, start, start + call.answer_tokens)


class _Chains:
    """The ids of prompts."""

    def __init__(self, calls: Sequence[Call], chunk_tokens: int) -> None:
        self._calls = calls
        self._chunk_tokens = chunk_tokens
        self._roots = _roots(calls)
        new: Counter[str] = Counter()
        for number, call in enumerate(calls):
            new[call.stream] += call.prompt_tokens // chunk_tokens - self._shared(number)
        self._next: dict[str, int] = {}
        self._tail = 1
        for stream, n in new.items():
            self._next[stream] = self._tail
            self._tail += n
        self._runs: list[tuple[range, ...]] = []

    def ids(self, number: int) -> "array[int]":
        """Return the ids of the next call's prompt."""
        call = self._calls[number]
        shared, full = self._shared(number), call.prompt_tokens // self._chunk_tokens
        runs = self._first(self._origin(number), shared)
        start = self._next[call.stream]
        self._next[call.stream] = start + full - shared
        if full > shared:
            _extend(runs, range(start, start + full - shared))
        self._runs.append(tuple(runs))
        found = from_runs([(run.start, len(run)) for run in runs])
        if call.prompt_tokens % self._chunk_tokens:
            found.append(self._tail)
            self._tail += 1
        return found

    def _origin(self, number: int) -> int | None:
        """Return the call whose first tokens are those of this one."""
        call = self._calls[number]
        return self._roots[number] if call.parent is None else call.parent

    def _shared(self, number: int) -> int:
        """Return how many full chunks a call has from an earlier one."""
        origin, call = self._origin(number), self._calls[number]
        if origin is None:
            return 0
        return (
            min(call.kept_tokens, call.prompt_tokens, self._calls[origin].prompt_tokens) // self._chunk_tokens
        )

    def _first(self, origin: int | None, n: int) -> list[range]:
        """Return the first ids of an earlier prompt."""
        runs: list[range] = []
        for run in self._runs[origin] if origin is not None else ():
            if n <= 0:
                break
            runs.append(run[:n])
            n -= len(run)
        return runs


def _extend(runs: list[range], run: range) -> None:
    """Add a run, to the last one where it goes on from that."""
    if runs and runs[-1].stop == run.start:
        runs[-1] = range(runs[-1].start, run.stop)
    else:
        runs.append(run)


def _roots(calls: Sequence[Call]) -> list[int | None]:
    """Return the first call of the group of each call without a parent; None for the first itself."""
    first: dict[str, int] = {}
    found: list[int | None] = []
    for number, call in enumerate(calls):
        root = None
        if call.parent is None and call.group is not None:
            root = first.setdefault(call.group, number)
        found.append(None if root == number else root)
    return found
