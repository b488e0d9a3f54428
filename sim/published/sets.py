"""Sets of sessions as replicates: which of them stand in a set moves a row more than most coefficients."""

from collections.abc import Iterable
from itertools import product
from statistics import median
from typing import NamedTuple


class Replicate(NamedTuple):
    """One of several runs of a point."""

    seed: int
    draw: int | None
    """Of all coefficients over what is known of them; None: their values."""
    set: int | None = None
    """Which sessions, as `workload.session_set` has it; None: those of the seed, or the first of a trace."""


def replicates(seeds: int, draws: int) -> tuple[Replicate, ...]:
    """Return every seed from 0 on with every draw from 1 on; without draws, the seeds."""
    return tuple(Replicate(seed, draw) for seed, draw in product(range(seeds), _draws(draws)))


def replicates_of_sets(sets: int, seeds: int, draws: int, *, recorded: bool) -> tuple[Replicate, ...]:
    """Return so many sets of sessions, each with its own seeds and every draw.

    Recorded sessions are taken in an order drawn for each set, the first being that of the file. Generated
    ones are drawn anew; with one seed a set, a set is what that seed generates.
    """
    if not recorded and seeds == 1:
        return replicates(sets, draws)
    return tuple(
        Replicate(number * seeds + seed, draw, number)
        for number, seed, draw in product(range(sets), range(seeds), _draws(draws))
    )


def by_set(found: Iterable[tuple[Replicate, float]]) -> list[float]:
    """Return a number for each set, the median of its runs; one for each run that is of no set."""
    numbers: dict[object, list[float]] = {}
    for replicate, value in found:
        numbers.setdefault(replicate if replicate.set is None else replicate.set, []).append(value)
    return [median(values) for values in numbers.values()]


def _draws(draws: int) -> Iterable[int | None]:
    return range(1, draws + 1) if draws else [None]
