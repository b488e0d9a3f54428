"""Requests that did not complete: how many, why, and what would help; of one run, or of many together.

A summary has them as `not_completed`, a list of tables:

- `status`, `reason`: as in the table of requests;
- `n`: requests;
- `longest_tokens`: the longest prompt of them;
- `most_tokens`: how long a prompt may be where that is the reason, else null.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.base import words
from sim.base.words import exactly, plural

if TYPE_CHECKING:
    from sim.results.rows import Table

Summary = Mapping[str, Any]

_MOST_SENTENCES = 4
_NUMBERS = re.compile(r"\d[\d,.]*")


class Words(NamedTuple):
    """What is said of a reason, and what would help.

    `says` is a template: `prompts` and `requests` are "40 of 74 prompts", `are` and `were` agree with them,
    `longest` and `most` are tokens.
    """

    says: str
    remedy: str


_MORE_POOL = (
    "give the KV pool more memory: engine.gpu_memory_utilization, a GPU with more, a kv_dtype of fewer bytes"
)
_MIGRATE = "frontend.migration_limit above 0 tries them on another worker, so many times"

_BUSY = "{{requests}} {{were}} refused: all eligible workers busy ({code})"
_LESS_BUSY = (
    "higher router.active_*_threshold, replay.retries, as clients have them, or more workers; a router queue "
    "(router.queue_threshold) lets requests wait instead"
)

WORDS: dict[str, Words] = {
    "exceeds_max_model_len": Words(
        "{prompts}, with the answer, {are} longer than max_model_len {most}, the longest prompt {longest}",
        "raise engine.max_model_len if it is below the model's, else model.max_model_len if the model can be "
        "stretched; or send shorter prompts",
    ),
    "prompt_exceeds_pool": Words(
        "{prompts} {are} longer than the {most} tokens that the KV pool of a worker holds, the longest "
        "{longest}",
        _MORE_POOL,
    ),
    "prompt_exceeds_decode_pool": Words(
        "{prompts} {are} longer than the {most} tokens that the KV pool of a decode worker holds, the "
        "longest {longest}",
        f"{_MORE_POOL}; or raise disaggregation.decode_kv_blocks",
    ),
    "outgrew_pool": Words(
        "{requests} {were} given up: prompt and answer outgrew the KV pool of the worker, the longest prompt "
        "{longest}",
        _MORE_POOL,
    ),
    "engine_died": Words(
        "{requests} {were} given up because the engine died of a prompt of which all blocks were there, as "
        "vLLM 0.28.0 does",
        "engine.vllm_0_28_faults = false leaves the fault out; a later vLLM may be without it",
    ),
    "no_eligible_worker": Words(
        "{requests} {were} refused because no worker was left that could take them",
        "more workers, or see why they died",
    ),
    "router_queue_limit": Words(
        "{requests} {were} refused with status 529 by a limit of the router's queue: {reason}",
        "higher limits of that class in router.policy_config, more workers, or fewer requests at a time",
    ),
    "max_num_queued_reqs": Words(
        "{requests} {were} refused with status 503: the worker's server had engine.max_num_queued_reqs "
        "requests unfinished",
        "a higher engine.max_num_queued_reqs, replay.retries, as clients have them, or more workers",
    ),
    "max_num_queued_tokens": Words(
        "{requests} {were} refused with status 503: prompts of engine.max_num_queued_tokens tokens waited "
        "for their first token at the worker's server",
        "a higher engine.max_num_queued_tokens, replay.retries, as clients have them, or more workers",
    ),
    "workers_busy": Words(_BUSY.format(code=529), _LESS_BUSY),
    "workers_busy_503": Words(_BUSY.format(code=503), _LESS_BUSY),
    "session_limit": Words(
        "{requests} {were} refused: no more than 65,536 sessions can be bound to workers (529)",
        "a shorter router.session_affinity_ttl_secs",
    ),
    "worker_died": Words("{requests} failed: the serving worker died", _MIGRATE),
    "cannot_connect": Words(
        "{requests} failed: sent to a worker that was gone, before the router knew", _MIGRATE
    ),
    "drain_timeout": Words(
        "{requests} failed: still on a drained worker when its timeout_s was up",
        f"a longer timeout_s of that fault; {_MIGRATE}",
    ),
    "kv_transfer_failed": Words(
        "{requests} failed: the decode worker could not read the prompt's KV blocks",
        'disaggregation.kv_load_failure_policy = "recompute" computes the prompt there',
    ),
    "frontend_restarted": Words("{requests} failed: the front end restarted", ""),
    "frontend_down": Words("{requests} {were} refused because the front end was down", ""),
    "client_cancelled": Words("{requests} {were} cancelled by clients, as a fault of the scenario says", ""),
    "cancelled_in_trace": Words("{requests} {were} cancelled by clients, as the trace says", ""),
    "cut_at_end": Words(
        "{requests} {were} in flight when replay.duration_s was over, and {are} in no latency",
        'replay.at_end = "finish" lets them end',
    ),
    "client_timeout": Words(
        "{requests} {were} given up by the client when replay.timeout_s was up, and {are} in no latency",
        "a longer replay.timeout_s, more workers, or fewer requests at a time",
    ),
    "not sent: waits for an earlier request to end": Words(
        "{requests} {were} never sent, behind an earlier one that does not end", ""
    ),
}
"""By reason in the table of requests, or by its first word."""

_OTHERS: dict[str, Words] = {
    "unfinished": Words(
        "{requests} never ended: {reason}",
        f"fewer requests at a time (engine.max_num_seqs, replay.max_concurrency), or {_MORE_POOL}",
    ),
}
"""By status, for reasons that are sentences of their own."""
_OTHER = Words("{requests} {were} {status}: {reason}", "")


def not_completed(requests: "Table", most_tokens: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return what became of the requests of a run that were not completed, most of a kind first.

    Args:
        requests: the table.
        most_tokens: how long a prompt may be, by the reason for which longer ones are refused.

    """
    lengths: dict[tuple[str, str], list[int | None]] = {}
    rows = zip(*map(requests.column, ("status", "reason", "prompt_tokens")), strict=True)
    for status, reason, prompt_tokens in rows:
        if status != "completed":
            lengths.setdefault((status, reason or ""), []).append(prompt_tokens)
    found = sorted(lengths.items(), key=lambda kind: (-len(kind[1]), kind[0]))
    return [
        {
            "status": status,
            "reason": reason,
            "n": len(tokens),
            "longest_tokens": max((n for n in tokens if n is not None), default=None),
            "most_tokens": most_tokens.get(reason),
        }
        for (status, reason), tokens in found
    ]


def refusals(summaries: Sequence[Summary]) -> list[str]:
    """Return a sentence for each kind of request that was not completed, over all of these runs.

    Reasons that differ in numbers alone are one kind: the first of them is said.
    """
    total = sum(_count(summary, "total") for summary in summaries)
    kinds: dict[tuple[str, str], list[Summary]] = {}
    for kind in (kind for summary in summaries for kind in _kinds(summary)):
        kinds.setdefault((kind["status"], _NUMBERS.sub("0", kind["reason"])), []).append(kind)
    ordered = sorted(kinds.values(), key=lambda found: -sum(kind["n"] for kind in found))
    shown = ordered[:_MOST_SENTENCES]
    lines = [_sentence(found, total, len(summaries)) for found in shown]
    remedies = [_words(found[0]).remedy for found in shown]
    for place, remedy in enumerate(remedies):
        # Once is enough: where it is said last.
        if remedy and remedy not in remedies[place + 1 :]:
            lines[place] += f"; what helps: {remedy}"
    rest = ordered[_MOST_SENTENCES:]
    if rest:
        left = sum(kind["n"] for found in rest for kind in found)
        lines.append(f"{words.count(left)} more for {len(rest)} other {plural(len(rest), 'reason')}")
    return lines


def lost(summary: Summary) -> int:
    """Return how many requests of a run were not completed."""
    return _count(summary, "total") - _count(summary, "completed")


def nothing_served(summaries: Sequence[Summary]) -> bool:
    """Whether requests were sent, and each was rejected, failed or cancelled."""
    sent = any(_count(summary, "total") for summary in summaries)
    return sent and not any(
        _count(summary, "completed") or _count(summary, "unfinished") for summary in summaries
    )


def shares(summaries: Sequence[Summary]) -> list[str]:
    """Say it if runs did not complete equal shares of their requests: their means are of unlike things."""
    found = [lost(summary) / total for summary in summaries if (total := _count(summary, "total"))]
    if not found or max(found) == min(found):
        return []
    between = words.between(min(found), max(found), words.percent)
    return [f"of a run's requests {between} were not completed: means are over what each run completed"]


def lost_metrics(numbers: Iterable[Mapping[str, float | None]]) -> list[str]:
    """Return the counts of requests that were not completed, of those that are not 0 everywhere."""
    kept = {"requests.total", "requests.completed"}
    return list(
        dict.fromkeys(
            name
            for run in numbers
            for name, value in run.items()
            if value and name.count(".") == 1 and name.startswith("requests.") and name not in kept
        )
    )


def _count(summary: Summary, name: str) -> int:
    return int(summary.get("requests", {}).get(name, 0))


def _kinds(summary: Summary) -> list[Summary]:
    """Return a summary's list; of one that was kept before there was one, as much as it has of it."""
    if "not_completed" in summary:
        kinds: list[Summary] = summary["not_completed"]
        return kinds
    return [
        {"status": status, "reason": reason, "n": n, "longest_tokens": None, "most_tokens": None}
        for status in ("rejected", "unfinished")
        for reason, n in summary.get("requests", {}).get(f"{status}_by_reason", {}).items()
    ]


def _and_more(others: int) -> str:
    return (
        f" ({exactly(others, 'reason')} more {'differs' if others == 1 else 'differ'} in numbers)"
        if others
        else ""
    )


def _sentence(kinds: Sequence[Summary], total: int, runs: int) -> str:
    n = sum(kind["n"] for kind in kinds)
    some = f"{words.count(n)} of {words.count(total)}"
    of_runs = f" of {runs} runs" if runs > 1 else ""
    return _words(kinds[0]).says.format(
        prompts=f"{some} {plural(total, 'prompt')}{of_runs}",
        requests=f"{some} {plural(total, 'request')}{of_runs}",
        are="is" if n == 1 else "are",
        were="was" if n == 1 else "were",
        status=kinds[0]["status"],
        reason=kinds[0]["reason"] + _and_more(len({kind["reason"] for kind in kinds}) - 1),
        longest=_tokens(kinds, "longest_tokens", most=True),
        most=_tokens(kinds, "most_tokens", most=False),
    )


def _words(kind: Summary) -> Words:
    reason: str = kind["reason"]
    found = WORDS.get(reason) or WORDS.get(reason.partition(" ")[0])
    return found or _OTHERS.get(kind["status"], _OTHER)


def _tokens(kinds: Sequence[Summary], name: str, *, most: bool) -> str:
    """Return the most of some numbers of tokens, or from which to which they go."""
    found = [kind[name] for kind in kinds if kind[name] is not None]
    if not found:
        return "of unknown length" if most else ""
    return words.count(max(found)) if most else words.between(min(found), max(found), words.count)
