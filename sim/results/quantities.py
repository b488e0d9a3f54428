"""The numbers of a JSON summary by name: which there are, what a person calls them, how they are shown."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sim.base import words
from sim.base.errors import InputError
from sim.base.limits import WITHIN, Limit
from sim.base.messages import nearest, suggestion
from sim.results.bounds import NAMES
from sim.results.labels import CAUSE_LABELS, LATE_LABEL, LATENCY_LABELS, NUMBER_LABELS, SOURCE_LABELS
from sim.results.metrics import empty_summary

MAIN = (
    "ttft_s.p50",
    "ttft_s.p95",
    "itl_s.p50",
    "itl_s.p99.9",
    "e2e_s.p50",
    "late_s.mean",
    "prefill.recomputation",
    "prefill.recomputation_by_counter",
    "workers_per_session.mean",
    "requests.completed",
    "requests.rejected",
    "requests.unfinished",
    "throughput.requests_per_s",
    "throughput.output_tokens_per_s",
    "gpu_hours",
)
"""What most comparisons are made for."""
USUAL = (
    *MAIN,
    "router.regret_tokens",
    "by_turn.first.ttft_s.p95",
    "by_turn.later.ttft_s.p95",
    "by_turn.later.recomputation",
    "prefill.ideal_hit_share",
    "prefill.hit_share",
    *NAMES,
)
"""What a comparison shows unless something else is asked for: these, as far as its runs have them."""

_TABLES = {
    "prefill.by_cause": ("Recomputed", CAUSE_LABELS),
    "prefill.by_source": ("Prompt tokens", SOURCE_LABELS),
}
_WHERE = {
    "bounds": "--bounds measures it",
    "by_turn": "runs have it whose sessions have several turns",
    "by_tag": "runs have it whose trace has tags",
}
"""Which runs have a table that not all of them have."""
_UNITS = {
    "requests_per_s": "requests/s",
    "output_tokens_per_s": "tokens/s",
    "gpu_hours": "h",
    "n_bytes": "bytes",
}
_BETWEEN_KEYS = re.compile(r"(?<!\bp\d\d)\.")
"""Every dot but that of a percentile such as p99.9."""
_PARTS = ("share", "hit_share", "ideal_hit_share", "regret_share", "utilization")
_SHARES = ("recomputation", "recomputation_by_counter", *_PARTS)


class Unit(NamedTuple):
    """How a kind of number is shown."""

    show: Callable[[float | None], str]
    show_difference: Callable[[float | None], str]
    axis: str
    """What an axis says behind the name, "" for plain counts."""
    per_axis_unit: float = 1.0
    """So much of the summary's unit is one on the axis."""


def _whole(value: float | None) -> str:
    """Return a count without decimals, a mean of counts with some."""
    return words.number(value) if value is None or value % 1 else words.count(value)


SECONDS = Unit(words.seconds, words.seconds, "s")
MILLISECONDS = Unit(words.seconds, words.seconds, "ms", 1e-3)
SHARE = Unit(words.percent, lambda share: words.percent(share).replace("%", "pp"), "%", 0.01)
TOKENS = Unit(words.count, words.count, "tokens")
COUNT = Unit(_whole, _whole, "")
PLAIN = Unit(words.number, words.number, "")


def flat(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers of a summary by dotted name: null for a table without numbers; no text, no lists.

    The version of the summary is not one of them.
    """
    return {name: value for name, value in _leaves(summary, "") if name != "schema_version"}


@cache
def names_before_runs() -> list[str]:
    """Return the names that can be told from misspelt ones before any run.

    A table that only some runs have is there without its numbers; `select` takes any number of it.
    """
    return names_in([flat(empty_summary(faults=True, turns=True)) | {"by_tag": None}])


def names_in(flat_summaries: Iterable[Mapping[str, float | None]]) -> list[str]:
    """Return the names of all numbers in any of several summaries."""
    names = list(dict.fromkeys(name for summary in flat_summaries for name in summary))
    # A table that is null in one summary may hold numbers in another.
    tables = {table for name in names for table in _tables_of(name)}
    return [name for name in names if name not in tables]


def select(names: Sequence[str], known: Collection[str], option: str = "--metric") -> list[str]:
    """Return the numbers that these names stand for; the name of a table stands for all numbers in it.

    Raises:
        InputError: a name is neither; names the nearest.

    """
    chosen = []
    for name in names:
        within = [number for number in known if number == name or name in _tables_of(number)]
        if not within and not any(table in known for table in _tables_of(name)):
            raise InputError(
                f"{option} {name}: no number of the summary has this name{_nearest(name, known)}"
            )
        chosen += within or [name]
    return list(dict.fromkeys(chosen))


def select_or(
    names: Sequence[str], usual: Sequence[str], known: Collection[str], option: str = "--metric"
) -> list[str]:
    """Return the numbers that these names stand for; without any, those of the usual ones that are known.

    Runs that were kept by an earlier version may be without some.

    Raises:
        InputError: as `select`.

    """
    if names:
        return select(names, known, option)
    return [name for name in usual if name in known or any(table in known for table in _tables_of(name))]


def check_number(name: str, known: Collection[str], option: str) -> None:
    """Refuse what is not the name of one number.

    Raises:
        InputError: says which are near, or which are in the table of this name.

    """
    within = select([name], known, option)
    if within != [name]:
        raise InputError(f"{option} {name}: is a table; give one of its numbers: {', '.join(within)}")


def counts_requests(name: str) -> bool:
    """Whether a number counts requests of a kind that only runs have in which there may be some."""
    kinds = {"requests.failed", "requests.cancelled", "requests.retries", "requests.resent"}
    return name in kinds or (name.startswith("requests.") and "_by_reason." in name)


def label(name: str) -> str:
    """Return what a person calls a number."""
    before, number, behind = _of_a_part(name.removeprefix(WITHIN))
    if number != name:
        shown = _label_within(number) if name.startswith(WITHIN) else label(number)
        return f"{before}{shown}{behind}"
    table, _, last = name.rpartition(".")
    if table in _TABLES:
        title, labels = _TABLES[table]
        return f"{title}: {labels.get(last, last)}"
    first, _, rest = name.partition(".")
    if first == "from_due" and rest:
        return f"{label(rest)} from due"
    if first == "late_s" and rest:
        return f"{LATE_LABEL}, {rest}"
    if first in LATENCY_LABELS and rest:
        return f"{LATENCY_LABELS[first]} {rest}"
    return NUMBER_LABELS.get(name) or NUMBER_LABELS.get(
        f"prefill.{name}", name
    )  # a part has the latter on top


def _label_within(name: str) -> str:
    """Return what a person calls a share of requests: "TTFT within 3.00 s"."""
    latency, _, bound = name.rpartition("<")
    return f"{LATENCY_LABELS.get(latency, latency)} within {words.seconds(float(bound))}"


def unit(name: str) -> Unit:
    """Return how a number is shown, from its name."""
    if name.startswith(WITHIN):
        return SHARE
    _, name, _ = _of_a_part(name)
    first = name.partition(".")[0]
    table, _, last = name.rpartition(".")
    if last in _SHARES or first in {"bounds", "occupancy"}:
        return SHARE
    if table in _TABLES or last.endswith("_tokens"):
        return TOKENS
    if first in {"requests", "router", "preemptions"} or last == "n":
        return COUNT
    if first in {*LATENCY_LABELS, "late_s", "from_due"} or (
        last.endswith("_s") and not last.endswith("_per_s")
    ):
        return SECONDS
    return PLAIN


def is_part_of_one(name: str) -> bool:
    """Whether a number is a part of a whole: never above 1, as a share of recomputed tokens may be."""
    return name.rpartition(".")[2] in _PARTS or name.partition(".")[0] in {"occupancy", "bounds"}


def si_unit(name: str) -> str:
    """Return the unit of a number as the summary has it, "" for counts and shares."""
    shown, last = unit(name), name.rpartition(".")[2]
    if shown is SECONDS:
        return "s"
    if shown is TOKENS:
        return "tokens"
    return _UNITS.get(last, "")


def written_limit(limit: Limit) -> str:
    """Return a limit as a person writes it: "ITL p99 < 200 ms", "TTFT within 3.00 s > 95.0 %"."""
    return f"{label(limit.metric)} {'<' if limit.below else '>'} {unit(limit.metric).show(limit.bound)}"


def _of_a_part(name: str) -> tuple[str, str, str]:
    """Return what stands before a number of a part of the requests, its name as of all, what stands behind.

    Any other name is as it is, and nothing beside it.
    """
    table, _, inner = name.partition(".")
    part, _, number = inner.partition(".")
    if number and table == "by_tag":
        return f"{part}: ", number, ""
    if number and table == "by_turn":
        return "", number, f", {part} turns"
    return "", name, ""


def _leaves(node: Any, name: str) -> Iterator[tuple[str, float | None]]:
    if isinstance(node, Mapping) and not node:
        yield name, None
    elif isinstance(node, Mapping):
        for key, inner in node.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    elif node is None or (isinstance(node, int | float) and not isinstance(node, bool)):
        yield name, node


@cache
def _tables_of(name: str) -> tuple[str, ...]:
    """Return the tables that a number stands in, from its name: "a" and "a.b" for "a.b.c"."""
    return tuple(name[: dot.start()] for dot in _BETWEEN_KEYS.finditer(name))


def _nearest(name: str, known: Collection[str]) -> str:
    table = name.partition(".")[0]
    if table in _WHERE and not any(other.startswith(f"{table}.") for other in known):
        return f"; {_WHERE[table]}"
    near = [other for other in known if other.rpartition(".")[2] == name]
    near += nearest(name, known, most=3)
    if not near:
        groups = sorted({other.partition(".")[0] for other in known})
        return f"; it has {', '.join(groups)}"
    return suggestion(dict.fromkeys(near[:3]))
