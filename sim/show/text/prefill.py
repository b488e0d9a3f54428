"""What was computed of a run's prompts, what of it twice, and what caches had of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import counted
from sim.results.labels import CAUSE_LABELS, SOURCE_LABELS
from sim.show.text.page_parts import table
from sim.show.text.page_table import Bar, Beside, PageTable


def reuse_line(summary: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what an ideal cache would have hit, what was achieved, and other routing if that was tried.

    Summaries of earlier versions do not say.
    """
    prefill, bounds = summary["prefill"], summary.get("bounds")
    if "hit_share" not in prefill:
        return
    achieved = words.percent(prefill["hit_share"])
    ideal = f"ideal {words.percent(prefill['ideal_hit_share'])}, "
    line = Text.assemble(("Prompt tokens cached: ", "bold"), ideal)
    if bounds is None:
        yield line.append("achieved ").append(achieved, style="bold yellow")
        return
    line.append(f"round robin would get {words.percent(bounds['round-robin'])}, this run got ")
    line.append(achieved, style="bold yellow")
    yield line.append(f", oracle {words.percent(bounds['oracle'])}")


def recomputation_line(prefill: Mapping[str, Any]) -> Text:
    """Return how much prefill was done again, and how that is counted."""
    counters = f"{words.percent(prefill['recomputation_by_counter'])} by the engines' own counters"
    if prefill.get("uncounted_tokens"):
        counters = (
            "the engines' own counters do not say: "
            f"{counted(prefill['uncounted_tokens'], 'token')} are of requests that came to no first token"
        )
    return Text.assemble(
        ("Recomputation ", "bold"),
        (words.percent(prefill["recomputation"]), "bold yellow"),
        f"  {counted(prefill['computed_tokens'], 'prompt token')} computed, "
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
            f"\n{counted(tokens, 'required token')} are of earlier answers and prompt ends before them: "
            f"{words.count(hit)} hit, {words.count(tokens - hit)} computed again",
            "dim",
        )
    ]


def prefill_tables(prefill: Mapping[str, Any]) -> RenderableType:
    """Return where prompt tokens came from, and beside it why some were computed again."""
    return Beside(
        _shares("Prompt tokens, by source", prefill["by_source"], SOURCE_LABELS, "cyan"),
        _shares("Recomputed, by cause", _causes(prefill["by_cause"]), CAUSE_LABELS, "yellow"),
    )


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
        filled = Bar(words.bar(share or 0.0, 8), style=colour)
        style = "" if tokens[name] else "dim"
        rows.add_row(label, words.count(tokens[name]), words.percent(share), filled, style=style)
    rows.add_section()
    rows.add_row("total", words.count(total), "", "")
    return rows
