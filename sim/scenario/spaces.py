"""Ranges to choose values from: `key=low:high`, `key=low:high:step` or `key=low:high:log`.

A key that takes whole numbers gets whole ones. Other values are rounded to four significant digits of the
range, so that what is run can be read and written again.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from math import exp, floor, log, log10
from typing import NamedTuple

from sim.base.errors import InputError
from sim.scenario.overrides import parse_override
from sim.scenario.points import Axis, combinations
from sim.scenario.schema import JsonSchema, takes_whole_numbers

_DIGITS = 4
_LOG = "log"
_LEAST, _MOST = Decimal("1e-9"), Decimal("1e18")


class Space(NamedTuple):
    """A range of a key."""

    key: str
    """Dotted, as in `router.overlap_score_credit`."""
    low: float
    high: float
    """Included; with steps, the last value."""
    step: float | None = None
    """Values are `low` and so many steps; None: any in between."""
    logarithmic: bool = False
    """Whether factors count in place of distances."""
    whole: bool = False
    """Whether values are whole numbers."""

    def at(self, share: float) -> str:
        """Return the value at a share of the range, 0 to 1 (1 excluded), as a `--set` has it."""
        if self.logarithmic:
            return self.write(exp(log(self.low) + share * log(self.high / self.low)))
        if self.step:
            steps = floor((self.high - self.low) / self.step + 1e-9)
            return self.write(self.low + self.step * floor(share * (steps + 1)))
        return self.write(self.low + share * (self.high - self.low))

    def write(self, value: float) -> str:
        """Return a value as a `--set` has it."""
        if self.step:
            return f"{value:.12g}"
        size = abs(value) if self.logarithmic else self.high - self.low
        digits = 0 if self.whole else max(0, _DIGITS - 1 - floor(log10(size)))
        rounded = round(Decimal(value), digits)
        inside = min(max(rounded, Decimal(repr(self.low))), Decimal(repr(self.high)))
        return f"{inside.normalize():f}"

    def holds(self, value: object) -> bool:
        """Whether something is a number of the range."""
        if not isinstance(value, int | float) or not self.low <= value <= self.high:
            return False
        return self.step is None or not (value - self.low) % self.step


def read_space(text: str, schema: JsonSchema, option: str) -> Space | None:
    """Return the range that `key=low:high...` stands for; None if it is written as something else.

    Raises:
        InputError: no such key, or a range without an inside.

    """
    key, _, written = text.partition("=")
    parts = [part.strip() for part in written.split(":")]
    scale = parts.pop() if len(parts) == 3 else ""
    try:
        numbers = [Decimal(part) for part in (*parts, *([scale] if scale not in ("", _LOG) else []))]
    except InvalidOperation:
        return None
    if len(parts) != 2 or not all(number.is_finite() for number in numbers):
        return None
    path = parse_override(text, schema, option).path
    if any(number and not _LEAST <= abs(number) <= _MOST for number in numbers):
        raise InputError(f"{option} {text}: numbers other than 0 are from {_LEAST} to {_MOST} in size")
    low, high = map(float, numbers[:2])
    step = float(numbers[2]) if len(numbers) > 2 else None
    if step:  # in decimals, which divide exactly: the last value is what so many steps lead to
        high = float(numbers[0] + (numbers[1] - numbers[0]) // numbers[2] * numbers[2])
    if not low < high or (step is not None and step <= 0):
        raise InputError(
            f"{option} {text}: holds no values; write low:high, such as 0:2, with low below high"
        )
    if scale == _LOG and low <= 0:
        raise InputError(f"{option} {text}: a logarithmic range begins above 0, not at {parts[0]}")
    whole = takes_whole_numbers(schema, path)
    if whole:
        if low % 1 or high % 1 or (step or 1) % 1:
            raise InputError(f"{option} {text}: {key.strip()} takes whole numbers only")
        step = step if step or scale == _LOG else 1.0
    return Space(key.strip(), low, high, step, scale == _LOG, whole)


def sobol_points(
    spaces: Sequence[Space], n: int, seed: int, axes: Sequence[Axis] = ()
) -> Iterator[dict[str, str]]:
    """Yield `n` points of a scrambled Sobol sequence, for every combination of the axes' values.

    Points that rounding makes equal are yielded once.
    """
    from scipy.stats import qmc  # noqa: PLC0415 - slow to import

    sobol = qmc.Sobol(len(spaces), rng=seed)
    shares = sobol.random_base2((n - 1).bit_length())[:n]
    points = [
        {space.key: space.at(float(share)) for space, share in zip(spaces, row, strict=True)}
        for row in shares
    ]
    distinct = {tuple(point.values()): point for point in points}.values()
    for chosen in combinations(axes):
        for point in distinct:
            yield chosen | point
