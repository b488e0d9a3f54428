"""How far runs of one cluster with the same settings, client and prompts are apart: the system's own spread.

A prediction can be no better than that. What is told apart: settings that the runs tell of themselves, the
client's limit on requests in flight, and the prompts with their send times by the trace.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from sim.measured.run import MeasuredRun
from sim.validation.predictions.quantities import Numbers


@dataclass(frozen=True, slots=True)
class Repeats:
    """Runs that repeat each other, two at least."""

    runs: tuple[str, ...]
    """Their titles."""
    numbers: Mapping[str, tuple[float, ...]]
    """By name, of what all of them measured, in the order of the runs."""


def kind_of(run: MeasuredRun, told: str) -> Hashable:
    """Return what runs have in common that repeat each other; `told`: the settings that the run tells."""
    limit = run.bench.max_concurrency if run.bench else None
    sent = run.trace.requests if run.trace else ()
    prompts = tuple(
        (request.timestamp_s, request.prompt_tokens, request.output_tokens, tuple(request.chunks))
        for request in sent
    )
    return told, limit, prompts


def repeats(runs: Sequence[tuple[str, Hashable, Numbers]]) -> list[Repeats | None]:
    """Return for each run, given by title, kind and what it measured, the repeats that it is one of."""
    together: dict[Hashable, list[tuple[str, Numbers]]] = {}
    for title, kind, numbers in runs:
        together.setdefault(kind, []).append((title, numbers))
    found = {kind: _repeats(group) for kind, group in together.items() if len(group) > 1}
    return [found.get(kind) for _, kind, _ in runs]


def _repeats(group: Sequence[tuple[str, Numbers]]) -> Repeats:
    numbers: dict[str, tuple[float, ...]] = {}
    for name in group[0][1]:
        values = [value for _, measured in group if (value := measured.get(name)) is not None]
        if len(values) == len(group):
            numbers[name] = tuple(values)
    return Repeats(tuple(title for title, _ in group), numbers)
