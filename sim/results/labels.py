"""What a person calls latencies, sources of prompt tokens, causes of recomputation, other numbers."""

LATENCY_LABELS = {"ttft_s": "TTFT", "itl_s": "ITL", "tpot_s": "TPOT", "e2e_s": "E2E", "queue_s": "Queue"}
"""Of each latency of a request, by its column."""

LATE_LABEL = "Sent late by"
"""Of the wait in the client."""

SOURCE_LABELS = {
    "local_compute": "computed",
    "local_cache_hit": "hit in GPU memory",
    "external_kv_transfer": "loaded from CPU tier",
}
"""Of where a prompt's tokens came from, as the engines' own counters have it."""

CAUSE_LABELS = {
    "preempted": "preempted",
    "bound": "partial or last block",
    "checkpoint": "state checkpoint missing",
    "in_flight": "on its way (in flight)",
    "evicted_here": "evicted on this worker",
    "generated": "in an answer elsewhere",
    "elsewhere": "on another worker",
    "gone": "on no worker any more",
}
"""Of each cause of recomputation (`sim.ledger.account.CAUSES`)."""

NUMBER_LABELS = {
    "requests.total": "Requests",
    "requests.completed": "Requests completed",
    "requests.rejected": "Requests rejected",
    "requests.unfinished": "Requests unfinished",
    "requests.failed": "Requests failed",
    "requests.cancelled": "Requests cancelled",
    "requests.retries": "Requests tried again",
    "requests.resent": "Refused requests sent again",
    "prefill.recomputation": "Recomputation",
    "prefill.recomputation_by_counter": "Recomputation, counters",
    "prefill.computed_tokens": "Prompt tokens computed",
    "prefill.required_tokens": "Prompt tokens required",
    "prefill.prompt_tokens": "Prompt tokens",
    "prefill.hit_share": "Prompt tokens hit",
    "prefill.ideal_hit_share": "Prompt tokens hit, ideal",
    "bounds.round-robin": "Prompt tokens hit, round robin",
    "bounds.oracle": "Prompt tokens hit, oracle",
    "prefill.uncounted_tokens": "Prompt tokens not in counters",
    "workers_per_session.mean": "Workers a session",
    "workers_per_session.max": "Workers a session, most",
    "router.ties": "Routing ties",
    "router.overcredit_tokens": "Over-credit tokens",
    "router.placed_prompts": "Prompts placed",
    "router.regretted_decisions": "Decisions with regret",
    "router.regret_tokens": "Regret",
    "router.regret_share": "Regret of prompts",
    "router.least_computed_tokens": "Prompt tokens to compute at least",
    "preemptions": "Preemptions",
    "occupancy.pool.mean": "KV pool in use",
    "occupancy.cpu_tier.mean": "CPU tier filled",
    "throughput.requests_per_s": "Requests/s",
    "throughput.output_tokens_per_s": "Output tokens/s",
    "requests_per_s": "Requests/s",
    "output_tokens_per_s": "Output tokens/s",
    "goodput.requests_per_s": "Goodput, requests/s",
    "gpu_hours": "GPU hours",
    "simulated_s": "Simulated time",
}
"""Of numbers of a summary, by dotted name."""
