"""What a person reads of a recorded run: its files and its numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import counted
from sim.measured.roles import ABOUT, Role
from sim.results.distribution import PERMILLES, percentile_name
from sim.results.labels import LATENCY_LABELS, SOURCE_LABELS
from sim.show.text.page_parts import footnotes, heading, table, thin_note
from sim.show.text.page_table import Beside, PageTable
from sim.show.text.versions import rules_line

_LATENCY_LABELS = {**LATENCY_LABELS, "client_wait_s": "Sent late by"}
_PULLED = "from prefill workers"
_LOADED = "from CPU tier"


def render(summary: Mapping[str, Any], title: str) -> RenderableType:
    """Return a recorded run's summary (`sim.measured.summary.summarise`), ready to print."""
    parts = [
        _files(summary["files"]),
        _requests(summary),
        _latencies(summary),
        _recomputation(summary["prefill"]),
        _sources(summary),
        _workers(summary["workers"]),
        _routing(summary),
    ]
    shown = [part for part in parts if part is not None]
    spaced = [piece for part in shown for piece in (Text(), part)]
    return Group(
        heading(title, _detail(summary)),
        *rules_line([summary]),
        *spaced,
        footnotes(thin_note(summary["thin_percentiles"]), summary["notes"]),
    )


def _detail(summary: Mapping[str, Any]) -> str:
    if summary["duration_s"] is None:
        return "measured"
    limit = summary["max_concurrency"]
    client = "open loop" if limit is None else f"at most {limit} in flight"
    return f"{words.seconds(summary['duration_s'])} measured, {client}"


def _files(files: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return a line for each role: files of workers by their targets, all others by their names."""
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    for role in Role:
        found = [file for file in files if file["role"] == role.value]
        if found:
            targets = Counter(file["target"] for file in found)
            names = ", ".join(file["name"] for file in found)
            if None not in targets:
                names = ", ".join(sorted(targets))
                moments = sorted({file["moment"] for file in found if file["moment"]}, reverse=True)
                names += f" ({' and '.join(moments)})" if moments else ""
            grid.add_row(Text(ABOUT[role], style="dim"), Text(names, overflow="fold"))
    return grid


def _requests(summary: Mapping[str, Any]) -> Text:
    requests = summary["requests"]
    total, of = requests["total"], requests["sessions"]
    sessions = f" of {counted(of, 'session')}" if of else ""
    completed = f"{words.count(requests['completed'])} completed"
    line = Text(f"{counted(total, 'request')}{sessions}: {completed}")
    line.append(
        f" · {words.count(requests['failed'])} failed", style="bold red" if requests["failed"] else "dim"
    )
    return line


def _latencies(summary: Mapping[str, Any]) -> PageTable | None:
    """Return the distributions; where the client kept no details, the numbers that it stated."""
    measured = {name: summary[name] for name in _LATENCY_LABELS if name in summary and summary[name]["n"]}
    stated = summary["stated"]
    if measured:
        columns = ["mean", *map(percentile_name, PERMILLES), "max"]
        rows = table("Latency", "n", *columns)
    else:
        columns = [*dict.fromkeys(column for numbers in stated.values() for column in numbers)]
        rows = table("Latency", *columns)
    for name, numbers in (measured or stated).items():
        cells = [words.count(numbers["n"])] if measured else []
        for column in columns:
            mark = "*" if f"{name}.{column}" in summary["thin_percentiles"] else " "
            cells.append(words.seconds(numbers.get(column)) + mark)
        rows.add_row(_LATENCY_LABELS[name], *cells)
    return rows if measured or stated else None


def _recomputation(prefill: Mapping[str, Any]) -> Text | None:
    if prefill["by_source"] is None and prefill["required_tokens"] is None:
        return None
    computed = prefill["by_source"] and prefill["by_source"]["local_compute"]
    text = Text.assemble(
        ("Recomputation ", "bold"),
        (words.percent(prefill["recomputation_by_counter"]), "bold yellow"),
        f"  {counted(computed, 'prompt token')} computed, "
        f"{words.count(prefill['required_tokens'])} required "
        f"({words.count(prefill['required_block_tokens'])} in whole blocks)",
    )
    recomputed, elsewhere = prefill["recomputed_block_tokens"], prefill["elsewhere_tokens"]
    if recomputed is not None:
        text.append(f"\n{words.count(recomputed)} recomputed in whole blocks", style="dim")
        if elsewhere is not None:
            text.append(
                f": {words.count(elsewhere)} of them only on other workers, "
                f"{words.count(recomputed - elsewhere)} evicted here or not yet there",
                style="dim",
            )
    return text


def _sources(summary: Mapping[str, Any]) -> RenderableType | None:
    """Return prompt tokens by source: of the prefill pool, and of the decode pool if there is one."""
    pools = [("Prompt tokens, by source", summary["prefill"]["by_source"], _LOADED)]
    if summary["decode"]:
        pools = [("Prefill workers' tokens", summary["prefill"]["by_source"], _LOADED)]
        pools.append(("Decode workers' tokens", summary["decode"]["by_source"], _PULLED))
    shown = [_shares(title, tokens, external) for title, tokens, external in pools if tokens]
    return Beside(*shown, gap=4) if shown else None


def _shares(title: str, tokens: Mapping[str, int], external: str) -> PageTable:
    rows = table(title, "tokens", "share")
    total = sum(tokens.values())
    for source, label in {**SOURCE_LABELS, "external_kv_transfer": external}.items():
        share = tokens[source] / total if total else None
        rows.add_row(
            label, words.count(tokens[source]), words.percent(share), style="" if tokens[source] else "dim"
        )
    rows.add_row("total", words.count(total), "")
    return rows


def _workers(workers: Sequence[Mapping[str, Any]]) -> RenderableType | None:
    if not workers:
        return None
    rows = table(
        "Worker", "requests", "pool", "computed", "hit", "external", "preempted", "stored", "removed"
    )
    for worker in workers:
        counters = worker["counters"] or {}
        by_source = counters.get("by_source") or {}
        events = worker["kv_events"] or {}
        rows.add_row(
            worker["name"],
            words.count(worker["routed_requests"]),
            words.count(worker["kv_blocks"]),
            *(words.count(by_source.get(source)) for source in SOURCE_LABELS),
            words.count(counters.get("preemptions")),
            *(_blocks(events.get(key)) for key in ("stored_blocks", "removed_blocks")),
        )
    tiers = {tier for worker in workers for tier in (worker["kv_events"] or {}).get("stored_blocks", ())}
    beside = ", GPU + CPU tier" if "CPU" in tiers else ""
    about = f"pool: KV blocks · stored, removed: blocks in KV events{beside} · others: prompt tokens"
    return Group(rows, Text(about, style="dim"))


def _blocks(by_medium: Mapping[str, int] | None) -> str:
    """Return the blocks of KV events, GPU first: "1,878", "1,878 + 841"."""
    if by_medium is None:
        return words.MISSING
    return " + ".join(words.count(by_medium[medium]) for medium in sorted(by_medium, reverse=True)) or "0"


def _routing(summary: Mapping[str, Any]) -> RenderableType | None:
    facts: dict[str, str] = {}
    for key, label in (
        ("workers_per_session", "Workers a session"),
        ("decode_workers_per_session", "Decode workers a session"),
    ):
        if found := summary[key]:
            facts[label] = f"{words.number(found['mean'])} mean, {found['min']} to {found['max']}"
    for stage, counts in summary["router"].items():
        facts[f"Routed, {stage}"] = _decisions(counts)
    facts.update(_overlap(summary["overlap"]))
    for pool, queue in summary["queue"].items():
        facts[f"Queued, {pool}"] = _queue(queue)
    if not facts:
        return None
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    for label, fact in facts.items():
        grid.add_row(Text(label, style="dim"), fact)
    return grid


def _decisions(counts: Mapping[str, int]) -> str:
    text = words.count(counts["decisions"])
    if counts["with_costs"]:
        text += (
            f", {words.count(counts['ties'])} of them ties; the cheapest taken "
            f"{words.count(counts['cheapest_taken'])} of {words.count(counts['with_costs'])} times"
        )
    return text + (f"; {words.count(counts['failed'])} failed" if counts["failed"] else "")


def _queue(queue: Mapping[str, Any]) -> str:
    if not queue["n"]:
        return "no request"
    low_s, high_s = queue["p99_between_s"]
    upper = "and more" if high_s is None else f"to {words.seconds(high_s)}"
    return f"{words.seconds(queue['mean_s'])} mean, p99 in {words.seconds(low_s)} {upper}, by the engines"


def _overlap(overlap: Mapping[str, int]) -> dict[str, str]:
    facts = {}
    if overlap["requests"]:
        facts["Router's overlap"] = (
            f"{counted(overlap['router_tokens'], 'token')}, "
            f"{words.count(overlap['credited_tokens'])} credited"
        )
    if overlap["host_blocks"]:
        facts["  in the CPU tier"] = (
            f"{counted(overlap['host_blocks'], 'block')} of {counted(overlap['host_requests'], 'request')}"
        )
    if overlap["compared"]:
        facts["Engine's hits"] = (
            f"{counted(overlap['engine_tokens'], 'token')}; equal in "
            f"{words.count(overlap['equal'])} of {counted(overlap['compared'], 'request')}, "
            f"less in {words.count(overlap['engine_less'])}, more in {words.count(overlap['engine_more'])}"
        )
    return facts
