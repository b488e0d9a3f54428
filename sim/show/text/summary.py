"""What a person reads after a run: one screen, made for a terminal of 100 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sim.base import words
from sim.base.words import counted
from sim.results.lateness import is_notable, late_sentence
from sim.results.phases import left_out_lines, n_first
from sim.results.quantities import flat
from sim.results.refusals import nothing_served, refusals
from sim.show.text.facts import engine_facts, routing_facts
from sim.show.text.faults import broken, fault_table
from sim.show.text.latencies import latency_table
from sim.show.text.page_parts import NOTHING_SERVED, footnotes, heading, pairs, thin_note
from sim.show.text.page_table import Answer, Beside
from sim.show.text.prefill import prefill_tables, recomputation_line, reuse_line
from sim.show.text.tags import tag_table
from sim.show.text.turns import turn_table
from sim.show.text.versions import rules_line


def render(summary: Mapping[str, Any], title: str, notes: Sequence[str] = ()) -> RenderableType:
    """Return one run's summary (`sim.results.metrics.summarise`), ready to print."""
    prefill = summary["prefill"]
    head = Group(
        heading(title, f"{words.seconds(summary['simulated_s'])} simulated"),
        *rules_line([summary]),
        requests_line(summary),
        *(Padding(Text(line, style="yellow"), (0, 0, 0, 2)) for line in left_out_lines(summary)),
        *(Padding(Text(line, style="red"), (0, 0, 0, 2)) for line in refusals([summary])),
    )
    if nothing_served([summary]):
        return Group(head, Text(), NOTHING_SERVED, footnotes(notes))
    return Group(
        head,
        Text(),
        Answer(main_numbers(summary)),
        Text(),
        latency_table(summary),
        turn_table(summary),
        Text(),
        *reuse_line(summary),
        recomputation_line(prefill),
        Text(),
        prefill_tables(prefill),
        Text(),
        Beside(pairs(routing_facts(summary)), pairs(engine_facts(summary))),
        tag_table(summary.get("by_tag", {})),
        fault_table(summary.get("faults", ())),
        footnotes(thin_note(summary["thin_percentiles"]), notes, warnings=warnings_of(summary)),
    )


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """Return what would mislead whoever reads the numbers of a run alone."""
    numbers = flat(summary)
    return [late_sentence(numbers)] if is_notable(numbers) else []


def requests_line(summary: Mapping[str, Any]) -> Text:
    """Return how many requests there were, of how many in the trace's file, and what became of them."""
    requests, in_file = summary["requests"], summary.get("requests_in_file")
    total = requests["total"]
    line = Text(counted(total, "request"))
    if in_file is not None and in_file > total + n_first(summary):
        line.append(f" of the {words.count(in_file)} in the file", style="bold yellow")
    line.append(f": {words.count(requests['completed'])} completed")
    reasons = ", ".join(f"{reason} {n}" for reason, n in requests["rejected_by_reason"].items())
    states = [("rejected", f" ({reasons})" if reasons else ""), *broken(requests), ("unfinished", "")]
    for status, detail in states:
        style = "bold red" if requests[status] else "dim"
        line.append(f" · {words.count(requests[status])} {status}{detail}", style=style)
    return line


def main_numbers(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the numbers that most runs are made for."""
    return {
        "TTFT p50": words.seconds(summary["ttft_s"]["p50"]),
        "ITL p50": words.seconds(summary["itl_s"]["p50"]),
        "E2E p50": words.seconds(summary["e2e_s"]["p50"]),
        "prefill recomputed": words.percent(summary["prefill"]["recomputation"]),
        "workers a session": words.number(summary["workers_per_session"]["mean"]),
    }
