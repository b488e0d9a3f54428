"""`--set` with several values for a key: a list `key=a,b,c` or a range `key=start:stop:step`.

Every combination of values is a point of a sweep or comparison. A range includes its stop if a whole number
of steps leads there, and its steps are exact decimals: 0:2:0.1 has 0.3, never 0.30000000000000004.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import NamedTuple

from sim.base.errors import InputError

_MOST_VALUES = 10_000
_CLOSES = {"[": "]", "{": "}"}


class Axis(NamedTuple):
    """A key that takes several values."""

    key: str
    """Dotted, as in `workload.sessions`."""
    values: tuple[str, ...]
    """As they are written in a `--set`: one TOML value each."""


def read_axes(texts: Sequence[str]) -> tuple[list[str], list[Axis]]:
    """Tell `--set` options with one value, returned as they are, from those with several.

    Commas inside brackets, braces or quotes belong to a value.

    Raises:
        InputError: an empty value in a list, a range without an end, or a key that is given again.

    """
    fixed, axes = [], []
    for text in texts:
        key, _, written = text.partition("=")
        values = tuple(_values(written, text))
        if len(values) == 1:
            fixed.append(f"{key}={values[0]}" if _is_range(written) else text)
        else:
            axes.append(Axis(key.strip(), values))
    keys = [text.partition("=")[0].strip() for text in fixed] + [axis.key for axis in axes]
    for axis in axes:
        if keys.count(axis.key) > 1:
            raise InputError(f"--set {axis.key}: is given twice, once with several values; give it once")
    return fixed, axes


def combinations(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Yield every combination as key to value, the last axis fastest; one empty combination without axes."""
    for values in product(*(axis.values for axis in axes)):
        yield {axis.key: value for axis, value in zip(axes, values, strict=True)}


def _values(written: str, text: str) -> Iterator[str]:
    parts = [part.strip() for part in _split(written)]
    if len(parts) > 1 and not all(parts):
        raise InputError(f"--set {text}: a value of the list is empty; quote a value that has commas")
    for part in parts:
        if _is_range(part):
            yield from _range(part, text)
        else:
            yield part


def _split(written: str) -> Iterator[str]:
    """Yield what stands between the commas that are outside of brackets, braces and quotes."""
    start, closing, quote = 0, "", ""
    previous = ""
    for place, character in enumerate(written):
        if quote:
            if character == quote and not (quote == '"' and previous == "\\"):
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _CLOSES:
            closing = _CLOSES[character] + closing
        elif closing and character == closing[0]:
            closing = closing[1:]
        elif character == "," and not closing:
            yield written[start:place]
            start = place + 1
        # An escaped backslash does not escape what follows it.
        previous = "" if character == previous == "\\" else character
    yield written[start:]


def _is_range(part: str) -> bool:
    return len(_numbers(part)) == 3


def _numbers(part: str) -> list[Decimal]:
    """Return the numbers between colons, none if anything else is there."""
    try:
        numbers = [Decimal(piece.strip()) for piece in part.split(":")]
    except InvalidOperation:
        return []
    return numbers if all(number.is_finite() for number in numbers) else []


def _range(part: str, text: str) -> Iterator[str]:
    start, stop, step = _numbers(part)
    if not step or (stop - start) / step < 0:
        raise InputError(
            f"--set {text}: {part} never reaches its stop; write start:stop:step, such as 4:28:4"
        )
    if (stop - start) / step >= _MOST_VALUES:
        raise InputError(f"--set {text}: {part} has more than {_MOST_VALUES:,} values")
    for n in range(int((stop - start) // step) + 1):
        yield f"{(start + n * step).normalize():f}"
