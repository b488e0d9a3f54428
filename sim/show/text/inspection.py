"""What a person reads about a trace: one page, made for a terminal of 100 columns, right in one of 80."""

from collections.abc import Callable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import counted
from sim.show.text.page_parts import footnotes, heading, pairs, table
from sim.show.text.page_table import Answer, Beside, PageTable
from sim.traces.inspection import PERCENTILES, Inspection, Spread

_LENGTHS = {
    "prompt": "Prompt, tokens",
    "output": "Output, tokens",
    "new": "New in a later turn, tokens",
    "growth": "Growth of appending turns",
    "turns": "Turns a session",
}
_TIMES = {"gap": "Start of a turn to the next", "think": "Answer to the next turn"}
_KINDS = {"append": "append to the turn before", "shrink": "shorter than it", "break": "change what it had"}


def render_inspection(found: Inspection) -> RenderableType:
    """Return what a trace is, ready to print."""
    return Group(
        heading(f"{found.source}: {found.format or 'generated'}", _span(found)),
        counts_line(found),
        Text(),
        _answer(found),
        Text(),
        _spreads(found),
        Text(),
        Beside(_kinds(found), pairs(_facts(found))),
        footnotes(found.notes),
    )


def counts_line(found: Inspection) -> Text:
    """Return how much there is."""
    counts = [
        counted(found.requests, "request"),
        counted(found.sessions, "session"),
        counted(found.prompt_tokens, "prompt token"),
        counted(found.output_tokens, "output token"),
    ]
    line = Text(" · ".join(counts))
    for n, what in ((found.dropped, "dropped"), (found.fixed, "changed")):
        if n:
            line.append(f" · {words.count(n)} {what}", style="bold yellow")
    return line


def _span(found: Inspection) -> str:
    return "no timestamps" if found.span_s is None else f"{words.seconds(found.span_s)} from first to last"


def _answer(found: Inspection) -> RenderableType:
    numbers = {
        "prompt p50": words.count(found.lengths["prompt"]["p50"]),
        "new p50": words.count(found.lengths["new"]["p50"]),
        "output p50": words.count(found.lengths["output"]["p50"]),
        "ideal hit": words.percent(found.ideal_hit),
    }
    if found.ideal_hit_provider is not None:
        numbers["provider hit"] = words.percent(found.ideal_hit_provider)
    numbers["working set"] = words.count(found.unique_tokens)
    return Answer(numbers)


def _spreads(found: Inspection) -> PageTable:
    rows = table("", "n", "mean", *(f"p{percent}" for percent in PERCENTILES), "max")
    shown: list[tuple[Mapping[str, str], Mapping[str, Spread], Callable[[float | None], str]]] = [
        (_LENGTHS, found.lengths, words.count),
        (_TIMES, found.times_s, words.seconds),
    ]
    for labels, spreads, in_words in shown:
        for name, label in labels.items():
            n, *numbers = spreads[name].values()
            if n:
                rows.add_row(label, words.count(n), *map(in_words, numbers))
    return rows


def _kinds(found: Inspection) -> PageTable:
    rows = table("Later turns", "n", "share")
    total = sum(found.later_turns.values())
    for name, label in _KINDS.items():
        n = found.later_turns[name]
        rows.add_row(label, words.count(n), words.percent(n / total if total else None))
    rows.add_row("total", words.count(total), "")
    return rows


def _facts(found: Inspection) -> dict[str, str]:
    unit = found.time_unit_s
    kept = found.kept_tokens
    facts = {
        "Tokens a hash id": words.count(found.chunk_tokens),
        "Answers in prompts": counted(found.answer_tokens, "token"),
    }
    if unit is not None:
        facts["Unit of its times"] = words.seconds(unit)
    if kept is not None:
        facts["Kept, as sent"] = _kept(kept["append"], found)
        facts["Kept, as cached"] = _kept(kept["provider"], found)
    facts["Repeated sessions"] = words.count(found.duplicate_sessions)
    if found.sub_agents or found.joins:
        facts["Sub-agents"] = words.count(found.sub_agents)
        facts["Wait for several"] = counted(found.joins, "request")
    models = [f"{name} ({words.count(n)})" for name, n in found.models.items()]
    return facts | ({"Models": ", ".join(models)} if models else {})


def _kept(tokens: int, found: Inspection) -> str:
    return f"{counted(tokens, 'token')}, {words.percent(tokens / found.prompt_tokens)}"
