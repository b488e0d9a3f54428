"""What a person calls latencies, sources of prompt tokens and causes of recomputation."""

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
