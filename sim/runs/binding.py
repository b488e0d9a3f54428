"""What binds a cluster at a limit: what its slowest requests waited for, and what would help.

Of a limit on TTFT it is the largest part of the time to first token of the slowest requests (`time_spent` of
a summary, `sim.results.time_spent`); of one on ITL or TPOT whether tokens wait for prompts in the same steps
or for the tokens of many others; E2E is whichever of both takes longer.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.base import words
from sim.base.limits import Limit
from sim.results.labels import CAUSE_LABELS
from sim.results.refusals import lost, refusals
from sim.results.within import Within
from sim.runs.layouts import Layout
from sim.runs.run import Run

FULL = 0.98
"""A pool that was as full as this at some time, and on average as `_MOSTLY`, holds requests back."""
_MOSTLY = 0.8
_BUSY = 0.7
"""Links busier than this hold back what waits for them."""
_NEAR = 1.25
"""A time within this factor of the floor is the floor's."""
_AGAIN = 0.3
"""Prompts of which so large a share of what was required was computed again owe their time to that."""
_AGAINST = {
    "evicted_here": "more room for KV blocks (--host-ram), so that they are still there",
    "gone": "more room for KV blocks (--host-ram), so that they are still there",
    "elsewhere": "a router that keeps sessions where their blocks are: sim tune searches its weights",
    "generated": "a router that keeps sessions where their blocks are: sim tune searches its weights",
    "in_flight": "faster prefill (engines of more GPUs): what a prompt needs was still being computed",
    "checkpoint": "checkpoints of the recurrent state at more places, or an attention-only model",
    "bound": "smaller blocks",
}
"""What keeps prompts from being computed again, by the cause that most of it has."""
_BOUND = ("ttft_s", "queue_s", "itl_s", "tpot_s", "e2e_s")
_PARTS = {
    "router_s": "before the router's choice",
    "queue_s": "in workers' queues",
    "prefill_s": "computing the prompt",
    "transfer_s": "in KV transfers",
    "rest_s": "in the rest",
}


class Binding(NamedTuple):
    """What holds a number where it is."""

    what: str
    """In two words, for a column."""
    evidence: str
    helps: str
    """What would move it."""

    def to_dict(self) -> dict[str, str]:
        """Return it ready for JSON."""
        return self._asdict()


def binding(
    run: Run, limit: Limit, layout: Layout, floor: float | None, floor_itl: float | None
) -> Binding | None:
    """Return what binds a run at a limit; None if the run does not say.

    Args:
        run: that asked for `time_spent`.
        limit: on one of its numbers.
        layout: of its cluster.
        floor: the number with each request alone.
        floor_itl: the median gap between tokens with each request alone.

    """
    summary = run.summary
    if summary is None or "time_spent" not in summary:
        return None
    if lost(summary):
        return Binding(
            "refusals", "; ".join(refusals([summary])), "what the reason says: clusters differ little in it"
        )
    part, latency = _of(limit)
    slowest = _slowest(summary["time_spent"]["slowest"], part)
    if slowest is None or slowest["ttft_s"] is None or latency not in _BOUND:
        return None
    decoding_s = summary["time_spent"]["decoding_s"] / max(summary["requests"]["completed"], 1)
    if latency in ("itl_s", "tpot_s") or (latency == "e2e_s" and decoding_s > slowest["ttft_s"]):
        return _between_tokens(summary, layout, floor_itl)
    near_floor = _is_near(limit, run.numbers.get(limit.metric), floor)
    return _first_token(summary, slowest, layout, near_floor=near_floor)


def _of(limit: Limit) -> tuple[str, str]:
    """Return the part of the requests that a limit is on, and the latency; "" for one that is none."""
    if limit.within is not None:
        asked = Within.read(limit.within, "")
        return asked.part, asked.latency
    table = limit.metric.rpartition(".")[0].removesuffix(".p99").removeprefix("from_due.")
    part, _, latency = table.rpartition(".")
    return part, latency


def _slowest(tables: Mapping[str, Any], part: str) -> Mapping[str, Any] | None:
    table, _, name = (part or "all").partition(".")
    found: Mapping[str, Any] | None = tables.get(table)
    if name and found is not None:
        found = found.get(name)
    return found


def _is_near(limit: Limit, value: float | None, floor: float | None) -> bool:
    return limit.below and value is not None and floor is not None and value <= _NEAR * floor


def _first_token(
    summary: Mapping[str, Any], slowest: Mapping[str, Any], layout: Layout, *, near_floor: bool
) -> Binding:
    n, ttft_s = slowest["n"], slowest["ttft_s"]
    spans = sorted(((slowest[name], name) for name in _PARTS), reverse=True)
    told = ", ".join(f"{words.seconds(span)} {_PARTS[name]}" for span, name in spans if span >= 0.01 * ttft_s)
    some = "the slowest request took" if n == 1 else f"the slowest {n} requests took"
    evidence = f"{some} {words.seconds(ttft_s)}{'' if n == 1 else ' on average'}: {told}"
    largest = spans[0][1]
    more = "prefill workers" if layout.decode else "workers"
    if largest == "router_s":
        return Binding(
            "router queue",
            evidence,
            f"more {more}, or a higher threshold at which the router holds requests back",
        )
    if largest == "transfer_s":
        return Binding("links", f"{evidence}; {_links(summary)}", "faster links between workers")
    if largest == "queue_s":
        return _queue(summary, evidence, more)
    again = summary["prefill"]["recomputation"] or 0.0
    if near_floor:
        return Binding(
            "prompt itself", evidence, "engines of more GPUs (--tensor-parallel 1,2,4): more workers do not"
        )
    if again >= _AGAIN:
        cause, tokens = max(summary["prefill"]["by_cause"].items(), key=lambda each: each[1])
        return Binding(
            "recomputation",
            f"{evidence}; {words.percent(again)} computed again, most of it "
            f"{CAUSE_LABELS[cause]} ({words.counted(tokens, 'token')})",
            _AGAINST.get(cause, "fewer preemptions: engines with more KV memory"),
        )
    return Binding("prefill batch", evidence, f"more {more}, so that fewer prompts share their steps")


def _queue(summary: Mapping[str, Any], evidence: str, more: str) -> Binding:
    pool = summary["occupancy"]["pool"]
    if pool["max"] >= FULL and ((pool["mean"] or 0.0) >= _MOSTLY or summary["preemptions"]):
        n = summary["preemptions"]
        lost = f", {words.counted(n, 'preemption')}" if n else ""
        return Binding(
            "KV pool", f"{evidence}; {_pool(pool)}{lost}", f"more {more}, or engines with more KV memory"
        )
    links = summary["time_spent"]["links"]
    if any(link["utilisation"] >= _BUSY for link in links.values()):
        return Binding(
            "links", f"{evidence}; {_links(summary)}", "faster links to host memory, or more workers"
        )
    return Binding("prefill queue", f"{evidence}; {_pool(pool)}", f"more {more}")


def _between_tokens(summary: Mapping[str, Any], layout: Layout, floor_itl: float | None) -> Binding:
    workers = layout.decode or layout.prefill
    ranks = workers * (layout.decode_parallel if layout.decode else layout.parallel).data
    batch = summary["time_spent"]["decoding_s"] / max(summary["simulated_s"] * ranks, 1e-9)
    itl = summary["itl_s"]
    evidence = (
        f"gaps of {words.seconds(itl['p50'])} at the median ({words.seconds(floor_itl)} alone) and "
        f"{words.seconds(itl['p99'])} at p99; {words.number(batch)} requests decode at once on a worker"
    )
    pool = summary["occupancy"]["decode_pool"] or summary["occupancy"]["pool"]
    if summary["preemptions"]:
        n = summary["preemptions"]
        return Binding(
            "KV pool",
            f"{evidence}; {words.counted(n, 'preemption')}, {_pool(pool)}",
            "more workers, or engines with more KV memory",
        )
    if not layout.decode and floor_itl is not None and itl["p50"] is not None and itl["p50"] < 2 * floor_itl:
        return Binding(
            "prefill steps",
            f"{evidence}: tokens wait for prompts in the same steps",
            "prefill workers apart, or a smaller engine.max_num_batched_tokens",
        )
    return Binding("decode batch", evidence, "more decode workers" if layout.decode else "more workers")


def _pool(pool: Mapping[str, float | None]) -> str:
    return f"KV pool {words.percent(pool['mean'])} in use, {words.percent(pool['max'])} at most"


def _links(summary: Mapping[str, Any]) -> str:
    links = summary["time_spent"]["links"]
    busiest = max(links, key=lambda kind: links[kind]["utilisation"])
    found = links[busiest]
    return (
        f"{busiest} busy {words.percent(found['utilisation'])}, {words.seconds(found['waiting_s'])} of waits"
    )
