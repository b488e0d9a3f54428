"""From the rows of a run to its numbers: latencies, prefill done twice, routing, throughput.

Definitions, where names alone do not say it:

- Latencies are those of completed requests, as `vllm bench serve` measures them: from the moment the client
  sends, after its own semaphore. ITL pools the gaps between tokens of all requests. Queue time is the
  worker's (reached the queue to first scheduled; a load from the CPU tier is part of it), as in vLLM 0.28.0.
- `late_s` is how long requests waited in the client, behind its limit on requests in flight: due to sent, of
  all that were sent. `from_due` are TTFT and E2E that count from then, so with this wait.
- `router.queue_s` is how long requests waited in the router's queue, of all that came there, those that did
  not wait or never went among them; runs without such a queue do not have it.
- `not_completed` says what became of the other requests, and why: see `sim.results.refusals`.
- `prefill`: see `sim.results.prefill`.
- Runs in which sessions have several turns have `by_turn`: see `sim.results.turns`; runs of a trace with tags
  have `by_tag`: see `sim.results.tags`.
- Runs that leave requests out of all this (`sim.results.phases`) have `left_out`; their rates and GPU hours
  are of the time between `left_out.from_s` and `until_s`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.results.distribution import distribution, thin
from sim.results.gauge import Occupancy
from sim.results.part import LATENCIES as OF_PARTS
from sim.results.phases import counted, left_out
from sim.results.prefill import prefill
from sim.results.ratio import ratio
from sim.results.refusals import not_completed
from sim.results.request_columns import RequestColumns
from sim.results.rows import Rows, Table
from sim.results.run_facts import RunFacts
from sim.results.tables import TAG
from sim.results.tags import by_tag
from sim.results.turns import by_turn, has_turns
from sim.results.weighted import WeightedSample

SCHEMA_VERSION = 1

LATENCIES = ("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s")
_ENDS = {"ttft_s": "first_token_s", "e2e_s": "end_s"}
"""Which latencies also count from the time when a request was due, and what ends them."""

LATER = (
    "not_completed",
    "late_s",
    "from_due",
    "uncounted_tokens",
    "returned_tokens",
    "returned_hit_tokens",
    "generated",
    "hit_share",
    "ideal_hit_share",
)
"""Keys that summaries of earlier versions do not have."""


def summarise(requests: Table, itl_s: WeightedSample, facts: RunFacts) -> dict[str, Any]:
    """Return the numbers of a run, ready for JSON: SI units, None where nothing was measured."""
    every, requests = requests, counted(requests)
    columns = RequestColumns(requests)
    waits_s = columns.router_queue()
    samples = {name: itl_s if name == "itl_s" else columns.sample(name) for name in LATENCIES}
    distributions = {name: distribution(samples[name]) for name in LATENCIES}
    distributions["late_s"] = distribution(columns.sample("late_s", where=columns.sent))
    from_due = {name: distribution(columns.since_due(end)) for name, end in _ENDS.items()}
    parts = _parts(every, requests, facts.block_tokens)
    within = columns.completed if facts.window is None else columns.completed_by(facts.window[1])
    output_tokens = columns.total("output_tokens", where=within)
    return {
        "schema_version": SCHEMA_VERSION,
        "requests": _requests(columns, facts.resent, broken=facts.faults is not None),
        "not_completed": not_completed(requests, facts.most_tokens),
        **distributions,
        "from_due": from_due,
        "thin_percentiles": thin(
            distributions
            | {f"from_due.{name}": found for name, found in from_due.items()}
            | {f"router.{name}": distribution(sample) for name, sample in waits_s.items()}
            | _latencies_of(parts)
        ),
        "prefill": prefill(columns, facts.block_tokens),
        "workers_per_session": _workers_per_session(columns),
        "router": {
            "decisions": len(columns.measured("routed_s")),
            "ties": int((columns.measured("ties") > 1).sum()),
            "overcredit_tokens": columns.total("overcredit_tokens"),
            **{name: distribution(sample) for name, sample in waits_s.items()},
            **(facts.regret or {}),
        },
        "preemptions": columns.total("preemptions"),
        "occupancy": {
            "pool": facts.pool._asdict(),
            "cpu_tier": facts.cpu_tier._asdict() if facts.cpu_tier else None,
            "decode_pool": facts.decode_pool._asdict() if facts.decode_pool else None,
            **{f"{name}_tier": filled._asdict() for name, filled in facts.lower_tiers.items()},
        },
        "pulls": facts.pulls.summary() if facts.pulls else None,
        **({"kv_returned": dict(facts.kv_returned)} if facts.kv_returned is not None else {}),
        "throughput": {
            "requests_per_s": ratio(int(within.sum()), facts.measured_s),
            "output_tokens_per_s": ratio(output_tokens, facts.measured_s),
        },
        "slo": facts.slo.limits() if facts.slo else None,
        "goodput": _goodput(columns, facts, within),
        **parts,
        "gpu_hours": facts.gpus * facts.measured_s / 3600,
        "simulated_s": facts.simulated_s,
        **({"speculation": _speculation(facts.drafts)} if facts.drafts is not None else {}),
        **({"faults": list(facts.faults)} if facts.faults else {}),
        **({"left_out": left_out(every, facts.begun_s, *facts.window)} if facts.window else {}),
    }


def _parts(every: Table, requests: Table, block_tokens: int) -> dict[str, dict[str, Any]]:
    """Return the numbers of parts of the requests, under the names of their tables."""
    return {
        **({"by_turn": by_turn(requests, block_tokens)} if has_turns(every) else {}),
        **({"by_tag": by_tag(requests, block_tokens)} if requests.has(TAG.name) else {}),
    }


def _latencies_of(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the distributions of parts by their dotted names."""
    return {
        f"{table}.{part}.{name}": numbers[name]
        for table, found in parts.items()
        for part, numbers in found.items()
        for name in OF_PARTS
    }


def _speculation(drafts: Mapping[str, int]) -> dict[str, Any]:
    """Return the counters, and the mean tokens of an output that had drafts, as vLLM's log has it."""
    length = 1 + drafts["accepted_tokens"] / drafts["drafts"] if drafts["drafts"] else None
    return {**drafts, "mean_acceptance_length": length}


def empty_summary(*, faults: bool = False, turns: bool = False) -> dict[str, Any]:
    """Return the summary of no request: all names, with null in place of tables that only some runs have.

    `faults`: with the counts that only runs have in which something may go wrong. `turns`: with the parts
    that only runs have in which sessions have several.
    """
    broken = () if faults else None
    facts = RunFacts(0.0, 0, pool=Occupancy(None, 0.0), cpu_tier=None, faults=broken)
    nothing = Rows().tables["requests"]
    found = summarise(nothing, WeightedSample(), facts)
    return found | ({"by_turn": by_turn(nothing, facts.block_tokens)} if turns else {})


def to_json(summary: Mapping[str, Any]) -> str:
    """Return the same bytes for the same numbers.

    Raises:
        ValueError: a number is infinite or not a number.

    """
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def _requests(columns: RequestColumns, resent: int | None, *, broken: bool) -> dict[str, Any]:
    counts = Counter(columns.status)
    statuses = ["completed", "rejected", "unfinished", *(("failed", "cancelled") if broken else ())]
    reasons: dict[str, list[str]] = {status: [] for status in statuses[1:]}
    for status, reason in zip(columns.status, columns.all("reason"), strict=True):
        if status in reasons:
            reasons[status].append(reason and reason.split("; ")[0])  # what follows is one request's own
    return {
        "total": len(columns.status),
        **{status: counts[status] for status in statuses},
        **({"retries": columns.total("retries")} if broken else {}),
        **({"resent": resent} if resent is not None else {}),
        **{f"{status}_by_reason": dict(sorted(Counter(found).items())) for status, found in reasons.items()},
    }


def _workers_per_session(columns: RequestColumns) -> dict[str, float | int | None]:
    """Count the workers on which a session's prefill was computed or loaded, over sessions that had any."""
    scheduled = columns.values("first_scheduled_s").measured
    pairs = {*compress(zip(columns.all("session"), columns.all("worker"), strict=True), scheduled)}
    counts = Counter(session for session, _ in pairs).values()
    return {"mean": ratio(sum(counts), len(counts)), "max": max(counts, default=None)}


def _goodput(columns: RequestColumns, facts: RunFacts, within: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Count completed requests that keep every limit; an undefined latency keeps its limit."""
    if facts.slo is None:
        return None
    good = columns.completed
    for name, limit in facts.slo.limits().items():
        values, measured = columns.values(name)
        good = good & ~(measured & (values > limit))
    good_requests = int(good.sum())
    return {
        "good_requests": good_requests,
        "share": ratio(good_requests, len(columns.status)),
        "requests_per_s": ratio(int((good & within).sum()), facts.measured_s),
    }
