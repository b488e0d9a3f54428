"""How many seeds, draws, points or processes may be asked for."""

from numbers import Integral

from sim.base.errors import InputError

_MOST = 100_000


def check_counts(**counts: int | None) -> None:
    """Refuse a count, given by the name of its argument, that is not from 1 to 100,000; None is a default.

    Raises:
        InputError: names the first.

    """
    for name, count in counts.items():
        if count is not None and not (isinstance(count, Integral) and 1 <= count <= _MOST):
            raise InputError(f"{name} = {count!r}: give a whole number from 1 to {_MOST:,}")


def check_runs(runs: int) -> None:
    """Refuse more runs than can be listed.

    Raises:
        InputError: says how many may be.

    """
    if runs > _MOST:
        raise InputError(f"these are {runs:,} runs or more; {_MOST:,} may be asked for at once")
