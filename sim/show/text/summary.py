"""What a person reads after a run: one screen, made for a terminal of 100 columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sim.base import words
from sim.base.errors import escaped
from sim.base.units import plural
from sim.results.labels import CAUSE_LABELS, LATE_LABEL, LATENCY_LABELS, SOURCE_LABELS
from sim.results.lateness import is_notable, late_sentence
from sim.results.phases import left_out_lines, n_first
from sim.results.quantities import flat
from sim.results.refusals import nothing_served, refusals
from sim.show.text.faults import broken, fault_table
from sim.show.text.page_table import Beside, PageTable
from sim.show.text.tags import tag_table
from sim.show.text.versions import rules_line

NOTHING_SERVED = "No request was served: there is nothing to measure."


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
        _answer(summary),
        Text(),
        _latencies(summary),
        Text(),
        recomputation_line(prefill),
        Text(),
        Beside(
            _shares("Prompt tokens, by source", prefill["by_source"], SOURCE_LABELS, "cyan"),
            _shares("Recomputed, by cause", _causes(prefill["by_cause"]), CAUSE_LABELS, "yellow"),
        ),
        Text(),
        Beside(pairs(routing_facts(summary)), pairs(engine_facts(summary))),
        tag_table(summary.get("by_tag", {})),
        fault_table(summary.get("faults", ())),
        footnotes(thin_note(summary["thin_percentiles"]), notes, warnings=warnings_of(summary)),
    )


def heading(title: str, detail: str) -> RenderableType:
    """Return the line on top: the title on the left, a detail on the right."""
    line = PageTable.grid(padding=(0, 2, 0, 0), expand=True)
    line.add_column(style="bold")
    line.add_column(justify="right", style="dim")
    line.add_row(Text(escaped(title)), Text(detail))
    return line


def table(*columns: str) -> PageTable:
    """Return an empty table: a column of names, then columns of numbers."""
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        grid.add_column(column, justify="right", no_wrap=True)
    return grid


def footnotes(*groups: Iterable[str], warnings: Iterable[str] = ()) -> RenderableType:
    """Return notes as a list, after an empty line if there are any; what would mislead comes first."""
    lines = PageTable.grid(padding=(0, 1))
    for warning in warnings:
        lines.add_row(Text("!"), Text(warning), style="bold yellow")
    for note in (note for group in groups for note in group):
        lines.add_row(Text("·"), Text(note), style="dim")
    return Group(Text(), lines) if lines.row_count else Text()


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """Return what would mislead whoever reads the numbers of a run alone."""
    numbers = flat(summary)
    return [late_sentence(numbers)] if is_notable(numbers) else []


def thin_note(thin_percentiles: Sequence[str]) -> list[str]:
    """Return what the asterisk means, if there is one."""
    return ["* fewer than ten samples expected beyond this percentile"] if thin_percentiles else []


def requests_line(summary: Mapping[str, Any]) -> Text:
    """Return how many requests there were, of how many in the trace's file, and what became of them."""
    requests, in_file = summary["requests"], summary.get("requests_in_file")
    total = requests["total"]
    line = Text(f"{words.count(total)} {plural(total, 'request')}")
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


def _answer(summary: Mapping[str, Any]) -> RenderableType:
    numbers = main_numbers(summary)
    grid = PageTable.grid(padding=(0, 5, 0, 0))
    grid.add_row(*numbers, style="dim")
    grid.add_row(*numbers.values(), style="bold green")
    return grid


def _latencies(summary: Mapping[str, Any]) -> PageTable:
    rows = table("Latency", *summary["ttft_s"])
    rows.columns[0].min_width = max(map(len, latency_rows(summary)))
    for label, cells in latency_rows(summary).items():
        rows.add_row(label, *cells)
    return rows


def latency_rows(summary: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the distribution of each latency in words, and of the wait in the client if anything waited."""
    rows = {label: latency_cells(summary, name) for name, label in LATENCY_LABELS.items()}
    late = summary.get("late_s")
    return rows | ({LATE_LABEL: latency_cells(summary, "late_s")} if late and late["max"] else {})


def latency_cells(summary: Mapping[str, Any], name: str) -> list[str]:
    """Return the distribution of a latency in words; an asterisk marks percentiles of few samples."""
    (_, n), *numbers = summary[name].items()
    thin = summary["thin_percentiles"]
    return [
        words.count(n),
        *(words.seconds(value) + ("*" if f"{name}.{key}" in thin else " ") for key, value in numbers),
    ]


def recomputation_line(prefill: Mapping[str, Any]) -> Text:
    """Return how much prefill was done again, and how that is counted."""
    counters = f"{words.percent(prefill['recomputation_by_counter'])} by the engines' own counters"
    if prefill.get("uncounted_tokens"):
        counters = (
            "the engines' own counters do not say: "
            f"{words.count(prefill['uncounted_tokens'])} tokens are of requests that came to no first token"
        )
    return Text.assemble(
        ("Recomputation ", "bold"),
        (words.percent(prefill["recomputation"]), "bold yellow"),
        f"  {words.count(prefill['computed_tokens'])} prompt tokens computed, "
        f"{words.count(prefill['required_tokens'])} required "
        f"({words.count(prefill['required_block_tokens'])} in whole blocks)\n",
        (counters, "dim"),
        *_returned(prefill),
    )


def _returned(prefill: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a line on what prompts held of earlier prompts and answers, if there was any."""
    tokens = prefill.get("returned_tokens")
    if not tokens:
        return []
    hit = prefill["returned_hit_tokens"]
    return [
        (
            f"\n{words.count(tokens)} required tokens are of earlier answers and prompt ends before them: "
            f"{words.count(hit)} hit, {words.count(tokens - hit)} computed again",
            "dim",
        )
    ]


def _causes(by_cause: Mapping[str, int]) -> dict[str, int]:
    """Return what there is to show: not the cause that only answers have, where it has nothing."""
    return {cause: tokens for cause, tokens in by_cause.items() if tokens or cause != "generated"}


def _shares(title: str, tokens: Mapping[str, int], labels: Mapping[str, str], colour: str) -> PageTable:
    rows = table(title, "tokens", "share", "")
    rows.columns[-1].justify = "left"
    total = sum(tokens.values())
    for name, label in labels.items():
        if name not in tokens:
            continue
        share = tokens[name] / total if total else None
        filled = Text(words.bar(share or 0.0, 8), style=colour)
        style = "" if tokens[name] else "dim"
        rows.add_row(label, words.count(tokens[name]), words.percent(share), filled, style=style)
    rows.add_section()
    rows.add_row("total", words.count(total), "", "")
    return rows


def routing_facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return what there is to say about routing, by name."""
    workers, router, throughput = (summary[key] for key in ("workers_per_session", "router", "throughput"))
    return {
        "Workers a session": f"{words.number(workers['mean'])} mean, {words.count(workers['max'])} max",
        "Routing decisions": (
            f"{words.count(router['decisions'])}, {words.count(router['ties'])} of them ties"
        ),
        **_router_queue(summary),
        "Over-credit": f"{words.count(router['overcredit_tokens'])} tokens",
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
    bound = {} if least is None else {"To compute": f"{words.count(least)} tokens at least, however routed"}
    return {"Regret": f"{words.count(router['regret_tokens'])} tokens, {share} of prompts"} | bound


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
    again = words.count(summary["prefill"]["recomputed_output_tokens"])
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
        "Preemptions": f"{words.count(summary['preemptions'])}, {again} output tokens redone",
        "Output": f"{words.number(summary['throughput']['output_tokens_per_s'])} tokens/s",
        "GPU time": f"{words.number(summary['gpu_hours'])} h",
    }


def _pulls(pulls: Mapping[str, Any] | None) -> dict[str, str]:
    if pulls is None:
        return {}
    expired = f", {words.count(pulls['leases_expired'])} leases expired" if pulls["leases_expired"] else ""
    took = f"{words.seconds(pulls['mean_s'])} mean, {words.seconds(pulls['max_s'])} max"
    return {"KV pulled": f"{words.count(pulls['n_bytes'])}B, {took}{expired}"}


def _kv_returned(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return what prefill workers read of decode workers' host memory, where they may."""
    back = summary.get("kv_returned")
    if back is None:
        return {}
    return {
        "KV returned": f"{words.count(back['n_bytes'])}B, {words.count(back['tokens'])} tokens",
        "Decode CPU tier": _full(summary["occupancy"]["decode_cpu_tier"]),
    }


def _full(occupancy: Mapping[str, float | None] | None) -> str:
    if occupancy is None:
        return "none"
    return f"{words.percent(occupancy['mean'])} mean, {words.percent(occupancy['max'])} max"


def pairs(facts: Mapping[str, str]) -> RenderableType:
    """Return facts below each other, behind their names."""
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for name, fact in facts.items():
        grid.add_row(Text(name, style="dim"), fact)
    return grid
