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
- `prefill.required_tokens` are the tokens that no earlier prompt contained: see `sim.ledger.ledger`. They are
  counted where they are computed or hit, so that a rejected request requires nothing. Of them,
  `returned_tokens` are in an answer, with the end of the prompt before it, that an earlier request had
  computed: `returned_hit_tokens` were hit, the others are recomputed.
- `prefill.recomputation` is recomputed / required, recomputed being computed - (required - returned): where
  no answer returns, (computed - required) / required. `recomputation_by_counter` puts in place of the
  computed tokens what vLLM's counters say (`vllm:prompt_tokens_by_source_total`, source local_compute):
  prompt less hit, once a request, at its first token, whatever a preemption does later. Those of a request
  that computed but never came to a first token say nothing: it is null if there is one, and
  `uncounted_tokens` are what they leave out.
- Runs of a trace with tags have `by_tag`: see `sim.results.tags`.
- Runs that leave requests out of all this (`sim.results.phases`) have `left_out`; their rates and GPU hours
  are of the time between `left_out.from_s` and `until_s`.
- `prefill.prompt_tokens` and `by_source` are those counters too: prompts that came to their first token.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.ledger.account import CAUSES
from sim.results.distribution import distribution, thin
from sim.results.gauge import Occupancy
from sim.results.phases import counted, left_out
from sim.results.refusals import not_completed
from sim.results.rows import Rows, Table, Values
from sim.results.slo import Slo
from sim.results.tables import ROUTER_QUEUE, TAG
from sim.results.tags import by_tag
from sim.results.transfers import PullCounts
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
)
"""Keys that summaries of earlier versions do not have."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a summary needs beside the rows."""

    simulated_s: float
    """From the start of the run to the end of the last request."""
    gpus: int
    pool: Occupancy
    """How full the workers' block pools were."""
    cpu_tier: Occupancy | None
    """How full their CPU tiers were; None without offload."""
    lower_tiers: Mapping[str, Occupancy] = field(default_factory=dict)
    """How full the tiers below were, by name; not said of workers that have none."""
    decode_pool: Occupancy | None = None
    """Disaggregated: how full the decode workers' pools were; `pool` are then the prefill workers'."""
    pulls: PullCounts | None = None
    """Disaggregated: what decode workers read from prefill workers."""
    kv_returned: Mapping[str, int] | None = None
    """What prefill workers read of decode workers' host memory; None: nothing flows back, nor is it said."""
    drafts: Mapping[str, int] | None = None
    """vLLM's counters of speculative decoding; None: there is none, and nothing is said of it."""
    regret: Mapping[str, Any] | None = None
    """What routing decisions let be computed; None: nobody looked."""
    slo: Slo | None = None
    most_tokens: Mapping[str, int] = field(default_factory=dict)
    """For reasons of which it is said, how long a prompt may be."""
    faults: Sequence[Mapping[str, Any]] | None = None
    """What each fault cost (`sim.cluster.faults.toll`); None: nothing could go wrong, no client gave up."""
    window: tuple[float, float] | None = None
    """Between which times rates are counted, where something may be left out; None: all of the run."""
    begun_s: float = 0.0
    """When the measured part began."""
    resent: int | None = None
    """How often clients sent refused requests again; None: none would, nor is it said."""

    @property
    def measured_s(self) -> float:
        """How long what is counted took."""
        return self.simulated_s if self.window is None else self.window[1] - self.window[0]


def summarise(requests: Table, itl_s: WeightedSample, facts: RunFacts) -> dict[str, Any]:
    """Return the numbers of a run, ready for JSON: SI units, None where nothing was measured."""
    every, requests = requests, counted(requests)
    columns = _Columns(requests)
    waits_s = columns.router_queue()
    samples = {name: itl_s if name == "itl_s" else columns.sample(name) for name in LATENCIES}
    distributions = {name: distribution(samples[name]) for name in LATENCIES}
    distributions["late_s"] = distribution(columns.sample("late_s", where=columns.sent))
    from_due = {name: distribution(columns.since_due(end)) for name, end in _ENDS.items()}
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
        ),
        "prefill": _prefill(columns),
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
            "requests_per_s": _ratio(int(within.sum()), facts.measured_s),
            "output_tokens_per_s": _ratio(output_tokens, facts.measured_s),
        },
        "slo": facts.slo.limits() if facts.slo else None,
        "goodput": _goodput(columns, facts, within),
        **({"by_tag": by_tag(requests)} if requests.has(TAG.name) else {}),
        "gpu_hours": facts.gpus * facts.measured_s / 3600,
        "simulated_s": facts.simulated_s,
        **({"speculation": _speculation(facts.drafts)} if facts.drafts is not None else {}),
        **({"faults": list(facts.faults)} if facts.faults else {}),
        **({"left_out": left_out(every, facts.begun_s, *facts.window)} if facts.window else {}),
    }


def _speculation(drafts: Mapping[str, int]) -> dict[str, Any]:
    """Return the counters, and the mean tokens of an output that had drafts, as vLLM's log has it."""
    length = 1 + drafts["accepted_tokens"] / drafts["drafts"] if drafts["drafts"] else None
    return {**drafts, "mean_acceptance_length": length}


def empty_summary(*, faults: bool = False) -> dict[str, Any]:
    """Return the summary of no request: all names, with null in place of tables that only some runs have.

    `faults`: with the counts that only runs have in which something may go wrong.
    """
    broken = () if faults else None
    facts = RunFacts(0.0, 0, pool=Occupancy(None, 0.0), cpu_tier=None, faults=broken)
    return summarise(Rows().tables["requests"], WeightedSample(), facts)


def to_json(summary: Mapping[str, Any]) -> str:
    """Return the same bytes for the same numbers.

    Raises:
        ValueError: a number is infinite or not a number.

    """
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


class _Columns:
    """The requests table by columns."""

    def __init__(self, requests: Table) -> None:
        self._requests = requests
        self.status = requests.column("status")
        self.completed = np.array([status == "completed" for status in self.status], dtype=np.bool_)
        self.sent = self.values("send_s").measured

    def all(self, name: str) -> list[Any]:
        return self._requests.column(name)

    def values(self, name: str) -> Values:
        return self._requests.values(name)

    def measured(self, name: str) -> NDArray[Any]:
        values, measured = self.values(name)
        return values[measured]

    def total(self, name: str, *, where: NDArray[np.bool_] | None = None) -> int:
        values, measured = self.values(name)
        return int(values[measured if where is None else measured & where].sum())

    def completed_by(self, until_s: float) -> NDArray[np.bool_]:
        """Return which requests were completed by a time."""
        in_time: NDArray[np.bool_] = self.completed & (self.values("end_s").values <= until_s)
        return in_time

    def sample(self, name: str, *, where: NDArray[np.bool_] | None = None) -> WeightedSample:
        """Return the values of a column, those of completed requests unless others are named."""
        values, measured = self.values(name)
        return _sample(values[measured & (self.completed if where is None else where)])

    def router_queue(self) -> dict[str, WeightedSample]:
        """Return the waits at routers, by name, of all that came to one; nothing where there is no queue."""
        name = ROUTER_QUEUE.name
        return {"queue_s": self.sample(name, where=self.sent)} if self._requests.has(name) else {}

    def since_due(self, end: str) -> WeightedSample:
        """Return the times from due to a column's, of completed requests."""
        due, end_s = self.values("due_s"), self.values(end)
        known = due.measured & end_s.measured & self.completed
        return _sample(end_s.values[known] - due.values[known])


def _sample(values: NDArray[np.float64]) -> WeightedSample:
    sample = WeightedSample()
    sample.add_many(values)
    return sample


def _requests(columns: _Columns, resent: int | None, *, broken: bool) -> dict[str, Any]:
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


def _prefill(columns: _Columns) -> dict[str, Any]:
    computed, first = columns.total("computed_prompt_tokens"), columns.total("first_tokens")
    returned = columns.total("returned_tokens")
    required = first + returned
    by_source = _by_source(columns)
    uncounted = columns.total("computed_prompt_tokens", where=~columns.values("first_token_s").measured)
    counted = None if uncounted else by_source["local_compute"]
    return {
        "prompt_tokens": sum(by_source.values()),
        "required_tokens": required,
        "required_block_tokens": columns.total("first_block_tokens") + columns.total("returned_block_tokens"),
        "returned_tokens": returned,
        "returned_hit_tokens": _returned_hit(columns),
        "computed_tokens": computed,
        "recomputed_output_tokens": columns.total("recomputed_output_tokens"),
        "recomputation": _ratio(computed - first, required),
        "recomputation_by_counter": None if counted is None else _ratio(counted - first, required),
        "uncounted_tokens": uncounted,
        "by_cause": {cause: columns.total(f"{cause}_tokens") for cause in CAUSES},
        "by_source": by_source,
    }


def _returned_hit(columns: _Columns) -> int:
    """Return how many of the returned tokens lie before the end of a prompt's hit."""
    prompt, required, returned, local, external = (
        columns.values(name).values
        for name in (
            "prompt_tokens",
            "required_tokens",
            "returned_tokens",
            "local_hit_tokens",
            "external_hit_tokens",
        )
    )
    return int(np.clip(local + external - (prompt - required), 0, returned).sum())


def _by_source(columns: _Columns) -> dict[str, int]:
    names = ("counted_prompt_tokens", "local_hit_tokens", "external_hit_tokens")
    came_to_first_token = columns.values("first_token_s").measured
    prompt, local, external = (columns.total(name, where=came_to_first_token) for name in names)
    return {
        "local_compute": prompt - local - external,
        "local_cache_hit": local,
        "external_kv_transfer": external,
    }


def _workers_per_session(columns: _Columns) -> dict[str, float | int | None]:
    """Count the workers on which a session's prefill was computed or loaded, over sessions that had any."""
    scheduled = columns.values("first_scheduled_s").measured
    pairs = {*compress(zip(columns.all("session"), columns.all("worker"), strict=True), scheduled)}
    counts = Counter(session for session, _ in pairs).values()
    return {"mean": _ratio(sum(counts), len(counts)), "max": max(counts, default=None)}


def _goodput(columns: _Columns, facts: RunFacts, within: NDArray[np.bool_]) -> dict[str, Any] | None:
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
        "share": _ratio(good_requests, len(columns.status)),
        "requests_per_s": _ratio(int((good & within).sum()), facts.measured_s),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
