"""What a person reads after several seeds of one scenario: the main numbers, each with its interval."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType

from sim.results import show
from sim.results.intervals import CONFIDENCE
from sim.results.summary import CAUSE_LABELS, footnotes, heading, table, thin_note

_Show = Callable[[float | None], str]

_SECTIONS: tuple[tuple[tuple[str, str, _Show], ...], ...] = (
    (
        ("Requests completed", "requests/completed", show.number),
        ("Requests rejected", "requests/rejected", show.number),
        ("Requests unfinished", "requests/unfinished", show.number),
    ),
    (
        ("TTFT p50", "ttft_s/p50", show.seconds),
        ("TTFT p90", "ttft_s/p90", show.seconds),
        ("TTFT p99", "ttft_s/p99", show.seconds),
        ("ITL p50", "itl_s/p50", show.seconds),
        ("ITL p99", "itl_s/p99", show.seconds),
        ("ITL p99.9", "itl_s/p99.9", show.seconds),
        ("E2E p50", "e2e_s/p50", show.seconds),
        ("E2E p99", "e2e_s/p99", show.seconds),
        ("Queue p99", "queue_s/p99", show.seconds),
    ),
    (
        ("Recomputation", "prefill/recomputation", show.percent),
        ("Recomputation, engine counters", "prefill/recomputation_by_counter", show.percent),
        ("Tokens required", "prefill/required_tokens", show.count),
        *(
            (f"Tokens again: {label}", f"prefill/by_cause/{cause}", show.count)
            for cause, label in CAUSE_LABELS.items()
        ),
    ),
    (
        ("Workers a session", "workers_per_session/mean", show.number),
        ("Routing ties", "router/ties", show.number),
        ("Over-credit tokens", "router/overcredit_tokens", show.count),
        ("Preemptions", "preemptions", show.number),
        ("KV pool in use", "occupancy/pool/mean", show.percent),
        ("CPU tier filled", "occupancy/cpu_tier/mean", show.percent),
    ),
    (
        ("Requests/s", "throughput/requests_per_s", show.number),
        ("Output tokens/s", "throughput/output_tokens_per_s", show.number),
        ("Goodput, requests/s", "goodput/requests_per_s", show.number),
        ("GPU hours", "gpu_hours", show.number),
    ),
)


def render_repeats(combined: Mapping[str, Any], title: str, notes: Sequence[str] = ()) -> RenderableType:
    """Return the summary of several seeds (`sim.results.intervals.combine`), ready to print."""
    seeds, thin = combined["seeds"], combined["thin_percentiles"]
    rows = table("", "mean", f"{100 * CONFIDENCE:.0f} % interval", "least", "most")
    for section in _SECTIONS:
        rows.add_row()
        for label, path, shown in section:
            number = _at(combined["intervals"], path.split("/"))
            if number is not None:
                mark = " *" if path.replace("/", ".") in thin else ""
                runs = f" ({number['n']} of {len(seeds)} runs)" if number["n"] < len(seeds) else ""
                rows.add_row(label + mark + runs, *_cells(number, shown))
    return Group(
        heading(title, f"{len(seeds)} seeds: {', '.join(map(str, seeds))}"),
        rows,
        footnotes(
            ["The interval is that of the mean over the seeds, by Student's t."], thin_note(thin), notes
        ),
    )


def _at(node: Any, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return what stands under a path of keys; None if the runs have no such thing."""
    for key in keys:
        node = node.get(key)
        if node is None:
            return None
    found: Mapping[str, Any] = node
    return found


def _cells(number: Mapping[str, Any], shown: _Show) -> list[str]:
    interval = show.MISSING if number["low"] is None else f"{shown(number['low'])} to {shown(number['high'])}"
    return [shown(number["mean"]), interval, shown(number["least"]), shown(number["most"])]
