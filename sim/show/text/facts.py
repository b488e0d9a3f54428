"""What is said of routing, of engines and of their memory, a fact behind each name."""

from collections.abc import Mapping
from typing import Any

from sim.base import words
from sim.base.words import counted
from sim.results.labels import LATENCY_LABELS


def routing_facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return what there is to say about routing, by name."""
    workers, router, throughput = (summary[key] for key in ("workers_per_session", "router", "throughput"))
    return {
        "Workers a session": f"{words.number(workers['mean'])} mean, {words.count(workers['max'])} max",
        "Routing decisions": (
            f"{words.count(router['decisions'])}, {words.count(router['ties'])} of them ties"
        ),
        **_router_queue(summary),
        "Over-credit": counted(router["overcredit_tokens"], "token"),
        **_regret(router),
        "Throughput": f"{words.number(throughput['requests_per_s'])} requests/s",
        **_goodput(summary),
    }


def _router_queue(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return how long requests waited at the router, if it has a queue."""
    waits, thin = summary["router"].get("queue_s"), summary["thin_percentiles"]
    if waits is None:
        return {}
    found = (
        f"{words.seconds(waits[key])}{'*' if f'router.queue_s.{key}' in thin else ''} {key}"
        for key in ("p50", "p99")
    )
    return {"Router queue": ", ".join(found)}


def _regret(router: Mapping[str, Any]) -> dict[str, str]:
    """Return what decisions let be computed that another candidate had, where somebody looked."""
    if "regret_tokens" not in router:
        return {}
    share = words.percent(router["regret_share"])
    least = router.get("least_computed_tokens")
    bound = {} if least is None else {"To compute": f"{counted(least, 'token')} at least, however routed"}
    return {"Regret": f"{counted(router['regret_tokens'], 'token')}, {share} of prompts"} | bound


def _goodput(summary: Mapping[str, Any]) -> dict[str, str]:
    goodput = summary["goodput"]
    if goodput is None:
        return {}
    limits = [f"{LATENCY_LABELS[name]} {words.seconds(limit)}" for name, limit in summary["slo"].items()]
    return {
        "Goodput": f"{words.number(goodput['requests_per_s'])} requests/s, {words.percent(goodput['share'])}",
        "  within": ", ".join(limits),
    }


def engine_facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return what there is to say about engines and their memory, by name."""
    occupancy = summary["occupancy"]
    again = counted(summary["prefill"]["recomputed_output_tokens"], "output token")
    pools = {"KV pool in use": _full(occupancy["pool"])}
    if occupancy["decode_pool"] is not None:
        pools = {
            "Prefill pool in use": _full(occupancy["pool"]),
            "Decode pool in use": _full(occupancy["decode_pool"]),
        }
    return {
        **pools,
        "CPU tier filled": _full(occupancy["cpu_tier"]),
        **_pulls(summary["pulls"]),
        **_kv_returned(summary),
        "Preemptions": f"{words.count(summary['preemptions'])}, {again} redone",
        "Output": f"{words.number(summary['throughput']['output_tokens_per_s'])} tokens/s",
        "GPU time": f"{words.number(summary['gpu_hours'])} h",
    }


def _pulls(pulls: Mapping[str, Any] | None) -> dict[str, str]:
    if pulls is None:
        return {}
    expired = f", {counted(pulls['leases_expired'], 'lease')} expired" if pulls["leases_expired"] else ""
    took = f"{words.seconds(pulls['mean_s'])} mean, {words.seconds(pulls['max_s'])} max"
    return {"KV pulled": f"{words.data(pulls['n_bytes'])}, {took}{expired}"}


def _kv_returned(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return what prefill workers read of decode workers' host memory, where they may."""
    back = summary.get("kv_returned")
    if back is None:
        return {}
    return {
        "KV returned": f"{words.data(back['n_bytes'])}, {counted(back['tokens'], 'token')}",
        "Decode CPU tier": _full(summary["occupancy"]["decode_cpu_tier"]),
    }


def _full(occupancy: Mapping[str, float | None] | None) -> str:
    if occupancy is None:
        return "none"
    return f"{words.percent(occupancy['mean'])} mean, {words.percent(occupancy['max'])} max"
