"""What a person reads after several runs of one scenario: the main numbers with their intervals or bands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import exactly, numbered
from sim.results.labels import CAUSE_LABELS
from sim.results.lateness import is_notable, late_sentence, mean_numbers
from sim.results.phases import left_out_of
from sim.results.quantities import flat
from sim.results.refusals import nothing_served, refusals, shares
from sim.results.turns import TURNS
from sim.runs.spread import CONFIDENCE, COVERAGE, FEW
from sim.show.text.page_parts import NOTHING_SERVED, footnotes, heading, table, thin_note
from sim.show.text.versions import rules_line

BAND_WORDS = (
    f"the {100 * COVERAGE:.0f} % band of the draws, 2.5th to 97.5th percentile of runs over the ranges of "
    "the coefficients; no interval of a mean"
)
_Show = Callable[[float | None], str]

_SECTIONS: tuple[tuple[tuple[str, str, _Show], ...], ...] = (
    (
        ("Requests completed", "requests/completed", words.number),
        ("Requests rejected", "requests/rejected", words.number),
        ("Requests unfinished", "requests/unfinished", words.number),
        ("Requests failed", "requests/failed", words.number),
        ("Requests cancelled", "requests/cancelled", words.number),
        ("Requests tried again", "requests/retries", words.number),
    ),
    (
        ("TTFT p50", "ttft_s/p50", words.seconds),
        ("TTFT p90", "ttft_s/p90", words.seconds),
        ("TTFT p99", "ttft_s/p99", words.seconds),
        ("ITL p50", "itl_s/p50", words.seconds),
        ("ITL p99", "itl_s/p99", words.seconds),
        ("ITL p99.9", "itl_s/p99.9", words.seconds),
        ("E2E p50", "e2e_s/p50", words.seconds),
        ("E2E p99", "e2e_s/p99", words.seconds),
        ("Queue p99", "queue_s/p99", words.seconds),
        ("Sent late by, mean", "late_s/mean", words.seconds),
        ("Sent late by, p95", "late_s/p95", words.seconds),
    ),
    (
        *(
            (f"{says}, {turns} turns", f"by_turn/{turns}/{path}", shown)
            for turns in TURNS
            for says, path, shown in (
                ("TTFT p50", "ttft_s/p50", words.seconds),
                ("TTFT p95", "ttft_s/p95", words.seconds),
                ("Recomputation", "recomputation", words.percent),
            )
        ),
    ),
    (
        ("Recomputation", "prefill/recomputation", words.percent),
        ("Recomputation, engine counters", "prefill/recomputation_by_counter", words.percent),
        ("Prompt tokens cached, ideal", "prefill/ideal_hit_share", words.percent),
        ("Prompt tokens cached, round robin", "bounds/round-robin", words.percent),
        ("Prompt tokens cached, achieved", "prefill/hit_share", words.percent),
        ("Prompt tokens cached, oracle", "bounds/oracle", words.percent),
        ("Tokens required", "prefill/required_tokens", words.count),
        *(
            (f"Tokens again: {label}", f"prefill/by_cause/{cause}", words.count)
            for cause, label in CAUSE_LABELS.items()
        ),
    ),
    (
        ("Workers a session", "workers_per_session/mean", words.number),
        ("Routing ties", "router/ties", words.number),
        ("Over-credit tokens", "router/overcredit_tokens", words.count),
        ("Preemptions", "preemptions", words.number),
        ("KV pool in use", "occupancy/pool/mean", words.percent),
        ("CPU tier filled", "occupancy/cpu_tier/mean", words.percent),
    ),
    (
        ("Requests/s", "throughput/requests_per_s", words.number),
        ("Output tokens/s", "throughput/output_tokens_per_s", words.number),
        ("Goodput, requests/s", "goodput/requests_per_s", words.number),
        ("GPU hours", "gpu_hours", words.number),
    ),
)


_WHERE_NOT_ZERO = ("late_s/mean", "late_s/p95")


def render_repeats(combined: Mapping[str, Any], title: str, notes: Sequence[str] = ()) -> RenderableType:
    """Return the summary of several runs (`sim.runs.repeats.combine`), ready to print."""
    seeds, draws, thin = combined["seeds"], combined.get("draws", ()), combined["thin_percentiles"]
    if draws:
        middle, spread, spreads = "median", f"{100 * COVERAGE:.0f} % band", combined["bands"]
        lines = [f"The band is {BAND_WORDS}.", *few_note(draws)]
    else:
        middle, spread, spreads = "mean", f"{100 * CONFIDENCE:.0f} % interval", combined["intervals"]
        lines = [
            "The interval is that of the mean over the seeds, by Student's t, on a scale that keeps it "
            "within what the number can be."
        ]
    rows, n = table("", middle, spread, "least", "most"), len(combined["runs"])
    for section in _SECTIONS:
        rows.add_row()
        for label, path, shown in section:
            number = _at(spreads, path.split("/"))
            if number is not None and (path not in _WHERE_NOT_ZERO or number["most"]):
                mark = " *" if path.replace("/", ".") in thin else ""
                runs = f" ({number['n']} of {exactly(n, 'run')})" if number["n"] < n else ""
                rows.add_row(label + mark + runs, *_cells(number, middle, shown))
    summaries = combined["runs"]
    head = Group(heading(title, runs_text(seeds, draws)), *rules_line(summaries))
    refused = refusals(summaries)
    if nothing_served(summaries):
        return Group(head, Text(), NOTHING_SERVED, footnotes(notes, warnings=refused))
    means = mean_numbers(list(map(flat, summaries)))
    late = [late_sentence(means)] if is_notable(means) else []
    warnings = [*refused, *shares(summaries), *late]
    lines += left_out_of(summaries)
    return Group(head, rows, footnotes(lines, thin_note(thin), notes, warnings=warnings))


def runs_text(seeds: Sequence[int], draws: Sequence[int] = ()) -> str:
    """Return which runs numbers stand for: "20 draws, seeds 0 and 1"."""
    some = numbered("seed", seeds)
    return f"{exactly(len(draws), 'draw')}, {some}" if len(draws) > 1 else some


def trace_note(seeds: Sequence[int], workloads: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what to say of several seeds where a trace file is sent; `workloads` as scenarios have them."""
    if len(seeds) < 2 or not any(workload.get("path") for workload in workloads):
        return []
    return [
        "a trace is the same with every seed: seeds move only the router's ties and other draws, and an "
        "interval says nothing of other traffic"
    ]


def few_note(draws: Sequence[int]) -> list[str]:
    """Return what to say of too few draws."""
    if len(draws) >= FEW:
        return []
    return [
        f"with fewer than {exactly(FEW, 'draw')} the ends of a band are about the least and the most of them"
    ]


def _at(node: Any, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return what stands under a path of keys; None if the runs have no such thing."""
    for key in keys:
        node = node.get(key)
        if node is None:
            return None
    found: Mapping[str, Any] = node
    return found


def _cells(number: Mapping[str, Any], middle: str, shown: _Show) -> list[str]:
    spread = words.between(number["low"], number["high"], shown)
    return [shown(number[middle]), spread, shown(number["least"]), shown(number["most"])]
