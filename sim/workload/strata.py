"""Numbers for sessions that are spread evenly over any set of them: scrambled van der Corput sequences.

With a draw of its own for each session, 28 of them may well be long by chance. Here the first `n` numbers
of a sequence leave no large part of the interval out, whatever `n` is, and number `i` does not depend on it.
Quantities that are drawn together need a base each, a small prime: two sequences of one base go in step.
"""

from sim.base.uniform import uniform

_LEAST_STRATA = 10_000
"""So many entities at least, from the first one on, are spread."""


def stratified(seed: int, purpose: str, entity: int, base: int) -> float:
    """Return the number of an entity, from 0, strictly between 0 and 1.

    Of entities `k * base**n` to `(k + 1) * base**n - 1` one lies in each of the `base**n` equal parts of the
    interval, in an order that `seed` and `purpose` decide: the digits of `entity`, the last one first, are
    permuted (Owen's nested scrambling), and what is behind them is drawn.
    """
    value, width, path = 0.0, 1.0, 0
    strata, rest = 1, entity
    while strata < _LEAST_STRATA:
        rest, digit = divmod(rest, base)
        width /= base
        value += _permuted(seed, f"{purpose} strata {strata}", path, base)[digit] * width
        path += digit * strata
        strata *= base
    return value + width * (uniform(seed, f"{purpose} in stratum", entity) or 2.0**-54)


def _permuted(seed: int, purpose: str, path: int, base: int) -> list[int]:
    """Return the digits of a base in an order drawn for what the digits before are, `path`."""
    if base == 2:
        first = int(uniform(seed, purpose, path) < 0.5)
        return [first, 1 - first]
    return sorted(range(base), key=lambda digit: uniform(seed, purpose, path, digit))
