"""What the tables of a run hold: every column with its type, its unit and its meaning.

Null means that nothing was measured, or that it never came to it; it is never written as 0. Times are seconds
of simulated time since the start of the run, except the durations, which say so.
"""

from typing import Literal, NamedTuple

from sim.ledger.account import CAUSES

GAP_DIGITS = 7
"""Binary digits behind the first one that table `itl` keeps of a gap: at most 128 rows for each doubling."""

Kind = Literal["int", "float", "text", "bool"]


class Column(NamedTuple):
    """One column: its name, what kind of value it holds, the unit ("" for names and flags), what it says."""

    name: str
    kind: Kind
    unit: str
    about: str


_CAUSE_SAYS = {
    "preempted": "the request itself had them before it was preempted",
    "bound": "no hit may end behind them: a partial block, or the block of the last prompt token",
    "checkpoint": "the attention blocks were here, a checkpoint of the recurrent state was not",
    "in_flight": "another request was computing or loading them",
    "evicted_here": "they had been in this worker's GPU memory or CPU tier",
    "generated": "a worker that decoded them had them, and no prefill had computed them yet",
    "elsewhere": "another worker held them",
    "gone": "nobody held them any more",
}

REQUESTS = (
    Column("index", "int", "", "The request: its place in the workload, from 0"),
    Column("session", "text", "", "The session it belongs to"),
    Column("turn", "int", "", "Its place in the session, from 0"),
    Column("due_s", "float", "s", "When the client meant to send it, before waiting for its own limit"),
    Column("send_s", "float", "s", "When the client sent it; latencies count from here, see late_s"),
    Column("routed_s", "float", "s", "When the router chose a worker"),
    Column("queued_s", "float", "s", "When it reached the worker's queue"),
    Column("first_scheduled_s", "float", "s", "When the worker first scheduled a token of it, loads done"),
    Column("first_token_s", "float", "s", "When the client had the first token"),
    Column("end_s", "float", "s", "When the client had the last token or the refusal, or gave up"),
    Column("status", "text", "", "completed, rejected, failed, cancelled or unfinished"),
    Column("reason", "text", "", "Why it was not completed, or what it waited for when the run ended"),
    Column("worker", "int", "", "The worker that served it, from 0"),
    Column("prompt_tokens", "int", "tokens", "Length of the prompt"),
    Column("decode_worker", "int", "", "Disaggregated: the worker that computed its answer"),
    Column("prefilled_s", "float", "s", "Disaggregated: when the prefill worker had answered"),
    Column("decode_queued_s", "float", "s", "Disaggregated: when it reached the decode worker's queue"),
    Column("pull_start_s", "float", "s", "Disaggregated: when the decode worker began to read its blocks"),
    Column("pull_end_s", "float", "s", "Disaggregated: when they had been read"),
    Column("pulled_bytes", "int", "bytes", "Disaggregated: how much that was"),
    Column("output_tokens", "int", "tokens", "Tokens generated"),
    Column("counted_prompt_tokens", "int", "tokens", "Its prompt as the engine that computed it counts it"),
    Column("local_hit_tokens", "int", "tokens", "In GPU memory at its last admission before any preemption"),
    Column("external_hit_tokens", "int", "tokens", "Loaded from the CPU tier at that admission"),
    Column("computed_prompt_tokens", "int", "tokens", "Prompt tokens computed, some of them perhaps twice"),
    Column("required_tokens", "int", "tokens", "Prompt tokens that no prompt sent earlier contained"),
    Column("required_block_tokens", "int", "tokens", "The same, where only whole blocks can be the same"),
    Column(
        "returned_tokens",
        "int",
        "tokens",
        "Those that an earlier request's prompt and answer held, hit or computed again",
    ),
    Column("returned_block_tokens", "int", "tokens", "Tokens of the blocks that end in these"),
    Column("first_tokens", "int", "tokens", "Computed prompt tokens that nobody had computed before"),
    Column(
        "first_block_tokens",
        "int",
        "tokens",
        "Tokens of blocks that it completed first, and of its tail",
    ),
    Column("recomputed_tokens", "int", "tokens", "Computed prompt tokens that had been computed before"),
    *(
        Column(f"{cause}_tokens", "int", "tokens", f"Recomputed although known: {_CAUSE_SAYS[cause]}")
        for cause in CAUSES
    ),
    Column("recomputed_output_tokens", "int", "tokens", "Generated tokens computed again after a preemption"),
    Column("preemptions", "int", "", "How often it lost its blocks"),
    Column("retries", "int", "", "How often it was tried on another worker, its own having been lost"),
    Column("ties", "int", "", "Workers that shared the least cost when it was routed"),
    Column("credit_tokens", "int", "tokens", "Prompt tokens that the router took to be cached on the worker"),
    Column("overcredit_tokens", "int", "tokens", "Those of them that the worker could not use"),
    Column("ttft_s", "float", "s", "Duration: sent to first token"),
    Column("tpot_s", "float", "s", "Duration: mean time of an output token after the first; null for one"),
    Column("e2e_s", "float", "s", "Duration: sent to last token"),
    Column("queue_s", "float", "s", "Duration: in the worker's queue until first scheduled, loads included"),
    Column(
        "late_s", "float", "s", "Duration: due to sent, in the client, which had enough requests in flight"
    ),
)

PHASE = Column(
    "phase",
    "text",
    "",
    "Where some are left out: warm-up, before the measured part; first, at its start; measured, which count",
)
"""Of a run that leaves requests out of its numbers; tables of others do not have it."""

ROUTER_QUEUE = Column(
    "router_queue_s",
    "float",
    "s",
    "Duration: in the router's queue, at all stages and tries together",
)
"""Of a run whose router has a queue; tables of others do not have it."""

TAG = Column("tag", "text", "", "What the trace calls requests of its kind")
"""Of a run whose trace has tags; tables of others do not have it."""

DECISIONS = (
    Column("request", "int", "", "The request that was routed"),
    Column("leg", "text", "", "For what: aggregated, prefill or decode"),
    Column("now_s", "float", "s", "When"),
    Column("chosen", "bool", "", "Whether this candidate was taken"),
    Column("worker", "int", "", "The candidate, from 0"),
    Column("cost", "float", "blocks", "What the router minimises, after preferred taints"),
    Column("prefill_load_scale", "float", "", "Weight of the prefill term"),
    Column("adjusted_prefill_blocks", "float", "blocks", "Raw prefill less the credit, at least 0"),
    Column("decode_blocks", "int", "blocks", "Active blocks and those that this prompt would add"),
    Column("active_request_cost_blocks", "float", "blocks", "Weighted number of active requests"),
    Column("raw_prefill_blocks", "float", "blocks", "Booked prefill and this whole prompt"),
    Column("overlap_credit_blocks", "float", "blocks", "Credit for the overlap in all tiers, weighted"),
    Column("overlap_credit_decay", "float", "", "Factor on the device credit, 1 if it does not decay"),
    Column("taint_factor", "float", "", "Factor of the preferred taints, 1 if there are none"),
    Column("device_blocks", "int", "blocks", "Overlap with the GPU tier, as the index has it"),
    Column("host_blocks", "int", "blocks", "Overlap that goes on in the CPU tier"),
    Column("disk_blocks", "int", "blocks", "Overlap that goes on in lower tiers"),
    Column("cached_tokens", "int", "tokens", "Tokens that the booking would take as cached"),
    Column("active_prefill_tokens", "int", "tokens", "Prefill booked on the worker"),
    Column("active_blocks", "int", "blocks", "Blocks of the requests booked on the worker"),
    Column("active_requests", "int", "", "Requests booked on the worker"),
)

FRONT_END = Column("front_end", "int", "", "Whose router it was, from 0")
"""Of a run with several front ends; tables of others do not have it."""
REGRET = Column(
    "regret_tokens",
    "int",
    "tokens",
    "With output.regret: prompt tokens that it would compute and another candidate truly had",
)
"""Of a run that asks for it; null where no prompt was placed."""

WORKERS = (
    Column("now_s", "float", "s", "When the values began to hold; they do until the worker's next row"),
    Column("worker", "int", "", "The worker, from 0"),
    Column("running", "int", "", "Requests in the batch"),
    Column("waiting", "int", "", "Requests in the queue, those that wait for a load included"),
    Column("used_blocks", "int", "blocks", "Pool blocks that requests hold; idle cached ones are free"),
    Column("cpu_used_blocks", "int", "blocks", "Filled blocks of the CPU tier; null without one"),
    Column("most_running", "int", "", "Most requests in the batch since the worker's previous row"),
    Column("most_waiting", "int", "", "Most requests in the queue since then"),
    Column("most_used_blocks", "int", "blocks", "Most pool blocks that requests held since then"),
    Column("most_cpu_used_blocks", "int", "blocks", "Most blocks of the CPU tier filled since then"),
)

LINKS = (
    Column("kind", "text", "", "pcie (a worker and its host), nvlink (two workers), roce (two nodes)"),
    Column("owner", "int", "", "The worker, or for roce the node, whose link it is"),
    Column("direction", "text", "", "in or out, as the owner sees it; pcie: to_gpu or to_host"),
    Column("bandwidth_bytes_per_s", "float", "bytes/s", "Of this direction"),
    Column("transfers", "int", "", "How many went over it"),
    Column("n_bytes", "int", "bytes", "Together"),
    Column("busy_s", "float", "s", "Duration: with bytes under way"),
    Column("waiting_s", "float", "s", "Duration: how much longer transfers took than alone, summed"),
    Column("utilisation", "float", "", "Share of the run in which it was busy"),
    Column("tier", "text", "", "The tier of the worker that it leads to and from; null between workers"),
)

ITL = (
    Column("gap_s", "float", "s", "Duration: between two tokens of one request, to within 0.4 %"),
    Column("n", "int", "", "How many gaps were that long, of all requests together"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "requests": REQUESTS,
    "decisions": DECISIONS,
    "workers": WORKERS,
    "links": LINKS,
    "itl": ITL,
}

SOMETIMES = {"requests": (ROUTER_QUEUE, PHASE, TAG), "decisions": (FRONT_END, REGRET)}
"""Last columns that only some runs have, by table."""

LATER = (
    "late_s",
    "retries",
    "most_running",
    "most_waiting",
    "most_used_blocks",
    "most_cpu_used_blocks",
    "tier",
    "returned_tokens",
    "returned_block_tokens",
    "generated_tokens",
)
"""Columns that tables of earlier versions do not have; they read as null."""

ALWAYS_KEPT = ("requests", "links", "itl")
"""Tables that every run has; a scenario's `output.tables` names the others."""
