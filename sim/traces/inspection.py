"""What a trace is: how much there is of it, how long, how far apart, and how much of it could be reused."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.traces.provider import Kept
from sim.traces.walk import Walk, walk
from sim.workload.request import Trace

PERCENTILES = (10, 50, 90, 99)
Spread = Mapping[str, float | int | None]
"""Size, mean, percentiles by linear interpolation and maximum; None each of nothing."""


@dataclass(frozen=True)
class Inspection:
    """What `sim trace inspect` says."""

    format: str
    """Name of the format that it was read as."""
    requests: int
    sessions: int
    prompt_tokens: int
    output_tokens: int
    kept_tokens: Mapping[str, int] | None
    """Logs without hash ids: tokens that prompts keep of earlier ones, by identity; None of other traces."""
    ideal_hit: float | None
    """Share of prompt tokens that an infinite cache hits, in whole chunks."""
    answer_tokens: int
    """Tokens of prompts that are earlier answers, of traces whose prompts hold any."""
    dropped: int
    """Rows or responses that are no request of the trace."""
    fixed: int
    """Those that were changed to be used."""
    notes: tuple[str, ...]
    dropped_by_reason: Mapping[str, int]
    fixed_by_reason: Mapping[str, int]
    ideal_hit_provider: float | None
    """The same where prompts keep what the provider's cache gave; None of traces with hash ids."""
    source: str
    chunk_tokens: int
    """Tokens that one hash id stands for."""
    time_unit_s: float | None
    """Seconds that a unit of its timestamps was taken for; None where the format fixes no such unit."""
    span_s: float | None
    """From the first timestamp to the last."""
    unique_tokens: int
    """Working set: what an infinite cache takes, every chunk that no earlier prompt has, in full."""
    duplicate_sessions: int
    """Sessions of several turns whose lengths of prompts and outputs are all those of an earlier one."""
    sub_agents: int
    """Sessions whose first request waits for one of another."""
    joins: int
    """Requests that wait for several others."""
    models: Mapping[str, int]
    """Requests by the model that they name."""
    lengths: Mapping[str, Spread]
    """Tokens of prompts and outputs; of later turns, of what no earlier prompt has, and of growth over the
    turn before, where that is kept; turns of sessions."""
    times_s: Mapping[str, Spread]
    """Between the starts of turns, and from an answer to the next turn, where the trace has it."""
    later_turns: Mapping[str, int]
    """Turns behind the first: those that append to the turn before, that are shorter than it (shrink), and
    that are not, but change what it had (break)."""

    walked: Walk = field(repr=False, compare=False)
    """The requests themselves, in columns."""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it but the requests, ready for JSON."""
        found = {name: value for name, value in vars(self).items() if name not in {"walked", "drawn"}}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    @cached_property
    def drawn(self) -> dict[str, NDArray[Any]]:
        """What the spreads are of, by name."""
        return samples(self.walked)


def inspect(trace: Trace, kept: Kept | None = None, *, time_unit_s: float | None = None) -> Inspection:
    """Return what a trace is.

    Args:
        trace: of `load_trace`, `sample`, or a generated one.
        kept: of a log, what prompts keep by its two identities (`both_identities`).
        time_unit_s: seconds that a unit of the file's timestamps was taken for.

    """
    walked = walk(trace)
    found = samples(walked)
    timed = walked.timestamp_s[~np.isnan(walked.timestamp_s)]
    models = Counter(request.model for request in trace.requests if request.model is not None)
    return Inspection(
        format=trace.format or "generated",
        requests=len(trace.requests),
        sessions=int(walked.session.max()) + 1,
        prompt_tokens=int(walked.prompt_tokens.sum()),
        output_tokens=int(walked.output_tokens.sum()),
        kept_tokens=None if kept is None else {"append": kept.append, "provider": kept.provider},
        ideal_hit=walked.ideal_hit,
        answer_tokens=int(walked.answer_tokens.sum()),
        dropped=sum(trace.dropped.values()),
        fixed=sum(trace.fixed.values()),
        notes=trace.notes,
        dropped_by_reason=trace.dropped,
        fixed_by_reason=trace.fixed,
        ideal_hit_provider=None if kept is None else kept.ideal_hit_provider,
        source=trace.source,
        chunk_tokens=trace.chunk_tokens,
        time_unit_s=time_unit_s,
        span_s=float(timed.max() - timed.min()) if len(timed) else None,
        unique_tokens=int(-(-walked.required_tokens // trace.chunk_tokens).sum()) * trace.chunk_tokens,
        duplicate_sessions=duplicates(walked),
        sub_agents=_sub_agents(trace),
        joins=sum(len(request.waits_for) > 1 for request in trace.requests),
        models=dict(models.most_common()),
        lengths={name: spread(found[name]) for name in ("prompt", "output", "new", "growth", "turns")},
        times_s={name: spread(found[name]) for name in ("gap", "think")},
        later_turns={name: int(which.sum()) for name, which in kinds(walked).items()},
        walked=walked,
    )


def spread(values: NDArray[Any]) -> Spread:
    """Return how values are distributed."""
    n = len(values)
    points = np.percentile(values, PERCENTILES).tolist() if n else [None] * len(PERCENTILES)
    return {
        "n": n,
        "mean": float(values.mean()) if n else None,
        **{f"p{percent}": point for percent, point in zip(PERCENTILES, points, strict=True)},
        "max": values.max().item() if n else None,
    }


def kinds(walked: Walk) -> dict[str, NDArray[np.bool_]]:
    """Return which requests are later turns of each kind.

    A turn appends if it keeps all full chunks of the turn before.
    """
    before = np.where(walked.later, walked.before, 0)
    length_before = walked.prompt_tokens[before]
    shrink = walked.later & (walked.prompt_tokens < length_before)
    whole = length_before // walked.chunk_tokens * walked.chunk_tokens
    append = walked.later & ~shrink & (walked.kept_tokens >= whole)
    return {"append": append, "shrink": shrink, "break": walked.later & ~shrink & ~append}


def samples(walked: Walk) -> dict[str, NDArray[Any]]:
    """Return the values of what an inspection tells the spread of, by name."""
    later, before = walked.later, walked.before[walked.later]
    append = kinds(walked)["append"]
    gaps = walked.timestamp_s[later] - walked.timestamp_s[before]
    think = walked.delay_s[later]
    return {
        "prompt": walked.prompt_tokens,
        "output": walked.output_tokens,
        "new": walked.required_tokens[later],
        "growth": walked.prompt_tokens[append] - walked.prompt_tokens[walked.before[append]],
        "turns": np.bincount(walked.session),
        "gap": gaps[~np.isnan(gaps)],
        "think": think[~np.isnan(think)],
    }


def duplicates(walked: Walk) -> int:
    """Return how many sessions of several turns have the lengths of an earlier one, turn by turn."""
    order = np.argsort(walked.session, kind="stable")
    sizes = np.bincount(walked.session)
    ends = np.cumsum(sizes)
    pairs = np.stack([walked.prompt_tokens[order], walked.output_tokens[order]], axis=1)
    several = np.flatnonzero(sizes > 1)
    distinct = {pairs[ends[one] - sizes[one] : ends[one]].tobytes() for one in several}
    return len(several) - len(distinct)


def _sub_agents(trace: Trace) -> int:
    waiting = (request for request in trace.requests if request.turn == 0 and request.waits_for)
    return sum(
        any(trace.requests[other].session != request.session for other in request.waits_for)
        for request in waiting
    )
