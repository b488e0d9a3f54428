"""Sums of floats that are equal on every version of Python: the built-in `sum` compensates from 3.12 on."""

from collections.abc import Iterable


def added(values: Iterable[float]) -> float:
    """Return the sum of numbers added one after another, as Dynamo's router adds them; 0 of none."""
    total = 0.0
    for value in values:
        total += value
    return total
