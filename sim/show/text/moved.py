"""What a person reads of what moved numbers from one release to another: beside each the rules that did."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.results.quantities import SHARE, label, unit
from sim.runs.comparison import Comparison
from sim.runs.paired import LEAST_PAIRS, Estimate
from sim.runs.rule_effects import TOGETHER, VERSION, Move, Pair, pairs
from sim.runs.unlike import warnings_of
from sim.show.text.common_notes import common_notes
from sim.show.text.comparison import key_headers, runs_line
from sim.show.text.page_parts import UNEQUAL, footnotes, heading
from sim.show.text.page_table import PageTable
from sim.show.text.versions import rules_line

SHOWN = (
    "ttft_s.p50",
    "ttft_s.p95",
    "itl_s.p50",
    "e2e_s.p50",
    "prefill.computed_tokens",
    "prefill.recomputation",
    "prefill.hit_share",
    "prefill.by_source.local_cache_hit",
    "prefill.by_source.external_kv_transfer",
    "preemptions",
    "requests.completed",
    "throughput.requests_per_s",
)
"""The numbers that are explained unless others are asked for."""
_LEAST_PART = 0.02
"""Of all that moved a number; smaller ones are told as one."""
_NOTHING = {f"{sign}0.0 {unit}" for sign in "+-" for unit in ("%", "pp")}


def render_moved(comparison: Comparison, metrics: Sequence[str]) -> RenderableType:
    """Return these numbers under each two releases and what moved them, ready to print."""
    found = list(pairs(comparison))
    place = comparison.keys.index(VERSION)
    tables: list[RenderableType] = []
    for (name, new), group in groupby(found, key=lambda pair: (pair.scenario, pair.new[place])):
        some = list(group)
        old = some[0].old[place]
        head = heading(f"{name}: from vLLM {old} to {new}", runs_line(comparison))
        said = [head, *rules_line(_summaries(some)), Text(_title(some))]
        tables += [*([Text()] if tables else []), *said, Text(), _table(comparison, some, metrics)]
    return Group(
        *tables,
        footnotes(_notes(comparison, found), common_notes(comparison), warnings=warnings_of(comparison)),
    )


def parts_of(move: Move) -> list[tuple[str, Estimate]]:
    """Return what moved a number, the most first; rules that moved it little are one part."""
    found = {rule: effect.mean for rule, effect in move.rules.items() if effect.mean.value}
    order = sorted(found, key=lambda rule: -abs(found[rule].value or 0.0))
    least = _LEAST_PART * fsum(abs(part.value or 0.0) for part in found.values())
    large = [rule for rule in order if abs(found[rule].value or 0.0) >= least]
    small = [found[rule].value or 0.0 for rule in order if rule not in large]
    parts = [(rule, found[rule]) for rule in large]
    if small:
        parts.append((f"{len(small)} more", Estimate(fsum(small), None, None, move.whole.n)))
    parts.append((TOGETHER, move.together))
    return [(name, part) for name, part in parts if part.value and _shown(move, part.value) not in _NOTHING]


def moved_text(move: Move, part: Estimate) -> str:
    """Return how far a number moved: in points of a share, in % of what it was; as it is if that was 0."""
    if part.value is None:
        return words.MISSING
    text = _shown(move, part.value)
    if text in _NOTHING:
        return text[1:]
    return text + (UNEQUAL if part.value and part.excludes(0.0) else "")


def _shown(move: Move, value: float) -> str:
    kind = unit(move.metric)
    if kind is SHARE:
        return f"{100 * value:+.1f} pp"
    if move.before:
        return f"{100 * value / abs(move.before):+.1f} %"
    return ("+" if value > 0 else "") + kind.show_difference(value)


def _table(comparison: Comparison, found: Sequence[Pair], metrics: Sequence[str]) -> PageTable:
    place = comparison.keys.index(VERSION)
    others = [number for number in range(len(comparison.keys)) if number != place]
    headers = key_headers(comparison.keys)
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column("", no_wrap=True)
    old, new = (str(point[place]) for point in (found[0].old, found[0].new))
    for header in [*(headers[number] for number in others), old, new, "change"]:
        grid.add_column(Text(header), justify="right", no_wrap=True)
    grid.add_column("moved by", no_wrap=True)
    grid.add_column("", justify="right", no_wrap=True)
    for metric in metrics:
        for pair in found:
            move = pair.move(metric)
            settings = [
                Text(comparison.written(comparison.keys[number], pair.old[number]), style="dim")
                for number in others
            ]
            for row in _rows(move, settings):
                grid.add_row(*row)
    return grid


def _rows(move: Move, settings: list[Text]) -> Iterator[list[str | Text]]:
    """Yield the lines of one number: of the number itself, then of each further rule."""
    shown = unit(move.metric).show
    before: list[str | Text] = [
        label(move.metric),
        *settings,
        shown(move.before),
        shown(move.after),
        _marked(move, move.whole),
    ]
    for rule, estimate in parts_of(move) or [("", Estimate(0.0, None, None, 0))]:
        yield [*before, Text(rule), _marked(move, estimate) if rule else ""]
        before = [""] * len(before)


def _marked(move: Move, estimate: Estimate) -> Text:
    text = moved_text(move, estimate)
    if text.endswith(UNEQUAL):
        return Text(text, style="bold")
    return Text(text + " ", style="dim" if not estimate.value else "")


def _summaries(found: Sequence[Pair]) -> Iterator[Mapping[str, Any]]:
    for pair in found:
        for side in pair.runs:
            yield from (run.summary for run in side.values() if run.summary is not None)


def _title(found: Sequence[Pair]) -> str:
    title: str = next(iter(found[0].runs[0].values())).settings.get("title", "")
    return title


def _notes(comparison: Comparison, found: Sequence[Pair]) -> list[str]:
    notes = [
        "moved by: the mean of what a rule does alone, all others as before, and of what is lost when it "
        f"alone is taken back; {TOGETHER}: the rest of the change, of rules that act on each other; in % of "
        "what the number was, shares in points (pp)"
    ]
    if len(comparison.seeds) < LEAST_PAIRS:
        notes.append(
            f"one run may move by chance: {UNEQUAL} marks what seeds tell apart from 0, three or more"
        )
    else:
        notes.append(f"bold and {UNEQUAL}: 0 is outside of the 95 % interval over the seeds")
    idle: dict[str, dict[str, None]] = {}
    for pair in found:
        idle.setdefault(", ".join(pair.idle), {})[pair.scenario] = None
    for rules, names in idle.items():
        which = f" of {', '.join(names)}" if len(idle) > 1 else ""
        if rules:
            notes.append(f"not switched, cannot act on the settings{which}: {rules}")
    return notes
