"""What is said of requests that left after they were due: the wait in the client, which no latency has in it.

Latencies count from sending, as in `vllm bench serve`. A client with a limit on requests in flight holds back
what is due; a cluster that does not keep up with the arrivals so keeps its latencies, and users wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from sim.base import words

Numbers = Mapping[str, float | None]
"""Numbers of a summary by dotted name: of one run, or means over several."""

NOTABLE = 0.1
"""So large a share of a latency or its limit is not small beside it."""
LATE = "late_s.mean"
_BESIDE = (("late_s.mean", "ttft_s.mean"), ("late_s.p95", "ttft_s.p95"))
_FROM_DUE = "from_due."
_BECAUSE = ": with its limit on requests in flight the cluster does not keep up with the arrivals"


def from_due(metric: str) -> str | None:
    """Return the name of a latency's number that counts from due; None if there is no such."""
    return f"{_FROM_DUE}{metric}" if metric.startswith(("ttft_s.", "e2e_s.")) else None


def is_notable(numbers: Numbers) -> bool:
    """Whether the wait in the client is not small beside the time to first token, by mean or p95."""
    for late, latency in _BESIDE:
        if (numbers.get(late) or 0.0) > NOTABLE * (numbers.get(latency) or 0.0):
            return True
    return False


def late_sentence(
    numbers: Numbers, metric: str = "ttft_s.p50", called: str = "TTFT p50", *, because: bool = True
) -> str:
    """Return how late requests leave, why, and what a latency is from the time when they were due.

    `metric` is that latency and `called` what a person calls it; `because` says whether to say why.
    """
    says = f"requests leave {words.seconds(numbers.get(LATE))} after they were due, on average"
    says += _BECAUSE if because else ""
    since = from_due(metric)
    if since is None or numbers.get(since) is None:
        return says
    due, sent = words.seconds(numbers[since]), words.seconds(numbers.get(metric))
    if due == sent:  # those that waited were not the ones that count here, or did not complete
        return says
    return f"{says}; from the time they were due {called} is {due}, not {sent}"


def mean_numbers(runs: Sequence[Numbers]) -> dict[str, float]:
    """Return the mean of every number that all of these runs have."""
    names = dict.fromkeys(name for run in runs for name in run)
    values = {name: [run.get(name) for run in runs] for name in names}
    measured = {
        name: [value for value in found if value is not None] for name, found in values.items() if found
    }
    return {
        name: fsum(found) / len(found)
        for name, found in measured.items()
        if found and len(found) == len(runs)
    }


def latest(runs: Iterable[Numbers]) -> Numbers:
    """Return the numbers with the longest wait; none if there are none."""
    return max(runs, key=lambda numbers: numbers.get(LATE) or 0.0, default={})
