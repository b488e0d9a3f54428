"""What a person reads of the floor: what no number of GPUs gets below."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.limits import Limit
from sim.results.quantities import label, unit
from sim.results.refusals import refusals
from sim.runs.floor import Floor
from sim.show.text.page_parts import table
from sim.show.text.prose import Prose

_FEW_CACHED = 0.1
"""Prompts of which less is cached are called cold."""
_FIRST, _LATER = "by_turn.first.", "by_turn.later."


def render_floor(floor: Floor, limits: Sequence[Limit], *, searched: bool) -> RenderableType:
    """Return the floor beside the limits, and in sentences what it says."""
    rows = table("Each request alone, on an idle worker", "limit", "warm", "cold")
    by_name = {limit.metric: limit for limit in limits}
    for name in floor.rows(limits):
        limit, shown = by_name.get(name), unit(name).show
        below = limit.below if limit else True
        warm = floor.least(name, below=below)
        broken = limit is not None and warm is not None and limit.margin(warm) < 0
        rows.add_row(
            label(name),
            f"{'<' if below else '>'} {shown(limit.bound)}" if limit else "",
            Text(f"{shown(warm)}{' !' if broken else '  '}", style="bold red" if broken else ""),
            shown(floor.least_cold(name, below=below)),
        )
    says = [Prose(line, style="bold") for line in floor_sentences(floor, limits)]
    if floor.exact and any("ttft_s" in limit.metric for limit in floor.broken(limits)):
        says.append(Prose("A prompt is computed faster by engines of more GPUs: --tensor-parallel 1,2,4."))
    if not searched:
        says.append(Prose("So no cluster was tried; --anyway searches all the same.", style="bold"))
    return Group(rows, Text(), *says)


def floor_sentences(floor: Floor, limits: Sequence[Limit]) -> Iterator[str]:
    """Yield what no number of GPUs can do, and what one can; "about" where the floor is not exact."""
    if floor.lost:
        summaries = [run.summary for run in floor.warm if run.summary is not None]
        why = "; ".join(refusals(summaries[:1]))
        yield f"{words.counted(floor.lost, 'request')} complete on no number of GPUs: {why}."
    for limit in limits:
        value = floor.least(limit.metric, below=limit.below)
        if value is None or limit.metric not in floor.rows(limits) or limit.margin(value) >= 0:
            continue
        shown = unit(limit.metric).show
        than = f"{'under' if limit.below else 'over'} {'' if floor.exact else 'about '}{shown(value)}"
        yield f"No number of GPUs gets {label(limit.metric)} {than}{_because(floor, limit)}."
    kept = [limit.margin(value) >= 0 for limit in limits if (value := _value(floor, limit)) is not None]
    if kept and all(kept) and not floor.stops(limits):
        yield "An idle worker keeps every limit on latencies: what clusters cost is found by trying."


def floor_notes(floor: Floor) -> Iterator[str]:
    """Yield how the floor was made."""
    yield (
        "alone: by the engine's own scheduler and step law, one request after the other on one worker whose "
        "KV memory has no end; warm, with every block that an earlier request computed; cold, without any"
    )
    if not floor.exact:
        yield (
            "in this replay time decides which requests count, so that the floor is a hint: it ends no search"
        )


def _value(floor: Floor, limit: Limit) -> float | None:
    known = limit.metric in floor.rows([limit])
    return floor.least(limit.metric, below=limit.below) if known else None


def _because(floor: Floor, limit: Limit) -> str:
    """Return why the floor of all requests is where it is, and what later turns can reach."""
    numbers = floor.warm[0].numbers
    if limit.within is not None or not limit.metric.startswith("ttft_s."):
        return ""
    first, total = numbers.get(f"{_FIRST}requests.total"), numbers.get("requests.total")
    completed, tokens = numbers.get(f"{_FIRST}requests.completed"), numbers.get(f"{_FIRST}prompt_tokens")
    if not first or not total or not completed or not tokens:
        return ""
    hit = numbers.get(f"{_FIRST}hit_share") or 0.0
    cold = "cold first prompts" if hit < _FEW_CACHED else "first prompts"
    cached = "" if hit < _FEW_CACHED else f", {words.percent(hit)} of them cached"
    later = floor.least(f"{_LATER}{limit.metric}")
    reach = "" if later is None else f"; later turns can reach {words.seconds(later)}"
    each = words.counted(tokens / completed, "token")
    return f": {words.percent(first / total)} of requests are {cold} of {each}{cached}{reach}"
