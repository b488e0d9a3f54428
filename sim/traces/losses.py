"""What rows of a format cannot say of a trace, with counts."""

from collections import Counter

from sim.traces.moments import placed
from sim.traces.writers.writer import Writer
from sim.workload.request import Request, Trace


def losses(trace: Trace, writer: Writer) -> list[str]:
    """Return what is lost when a trace is written in a format, a sentence each; none if nothing is."""
    counts: Counter[str] = Counter()
    for request, place in placed(trace):
        counts.update(_lost(request, place.before, writer))
    return [f"{said}: {counts[what]:,}" for what, said in _SAID.items() if counts[what]]


_SAID = {
    "turns": "later turns that leave at their times, as rows have no sessions",
    "times": "requests without a timestamp, which got the earliest at which they could leave",
    "waits": "requests that no longer wait for those of other sessions",
    "several": "requests that wait for the turn before alone, not for all that they waited for",
    "answer": "requests of which it is not said which tokens are an earlier answer "
    '(replay.answers = "returned" tells them again by lengths and ids)',
    "priority": "requests without their priority",
    "model": "requests without the model that they name",
    "tag": "requests without their tag",
    "cancelled": "requests that their clients do not give up",
}


def _lost(request: Request, before: int | None, writer: Writer) -> list[str]:
    """Return what a row does not say of a request."""
    own = () if before is None else (before,)
    facts = {
        "turns": before is not None and "turns" not in writer.carries,
        "times": request.timestamp_s is None
        and ("turns" not in writer.carries or (before is None and "waits" not in writer.carries)),
        "waits": _waits(request, own) and before is None and "waits" not in writer.carries,
        "several": _waits(request, own) and before is not None and "waits" not in writer.carries,
        "answer": request.answer is not None,
        "priority": _is_urgent(request) and "priority" not in writer.carries,
        "model": request.model is not None,
        "tag": request.tag is not None and "tag" not in writer.carries,
        "cancelled": request.cancel_after_s is not None,
    }
    return [what for what, lost in facts.items() if lost]


def _is_urgent(request: Request) -> bool:
    return bool(request.priority or request.strict_priority or request.policy_class)


def _waits(request: Request, own: tuple[int, ...]) -> bool:
    """Whether a request waits for others than the turn before."""
    return request.waits_for not in {(), own}
