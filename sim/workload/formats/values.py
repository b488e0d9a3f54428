"""Values of a JSON object as they must be: lengths, times, names, hash ids."""

from array import array
from contextlib import suppress
from typing import Any

from sim.base.errors import InputError, is_inert, shown

LARGEST_LENGTH = 10**9
LARGEST_TIME = 1e15
LARGEST_ID = 2**64 - 1
LONGEST_NAME = 1_000


def length(key: str | None, value: Any, at_least: int) -> int:
    """Return a number of tokens; raises InputError."""
    if value is None:
        raise InputError(f"{key} is missing: every row needs a whole number of tokens")
    if type(value) is not int or not at_least <= value <= LARGEST_LENGTH:
        raise InputError(
            f"{key} = {shown(value)}: must be a whole number of tokens from {at_least} to {LARGEST_LENGTH:,}"
        )
    return value


def whole(key: str, value: Any, at_least: int, at_most: int) -> int:
    """Return a whole number within bounds; raises InputError."""
    if type(value) is not int or not at_least <= value <= at_most:
        raise InputError(f"{key} = {shown(value)}: must be a whole number from {at_least:,} to {at_most:,}")
    return value


def time(key: str | None, value: Any, at_least: float) -> float:
    """Return a time; raises InputError."""
    if type(value) not in (int, float) or not at_least <= value <= LARGEST_TIME:
        raise InputError(
            f"{key} = {shown(value)}: must be a finite number from {at_least:g} to {LARGEST_TIME:g}"
        )
    number: float = value
    return number


def name_of(key: str | None, value: Any) -> str:
    """Return a name, which may be a whole number; raises InputError."""
    if type(value) is str:
        if len(value) > LONGEST_NAME or not (value.isprintable() or is_inert(value)):
            raise InputError(
                f"{key} = {shown(value)}: must have at most {LONGEST_NAME:,} characters, and none that "
                "controls a terminal or is half of a surrogate pair"
            )
        return value
    if type(value) is not int:
        raise InputError(f"{key} = {shown(value)}: must be a string or a whole number")
    return str(value)


class Ids:
    """Reads the hash ids of a trace: whole numbers, or strings, in all of it alike."""

    __slots__ = ("_has_whole", "_numbers")

    def __init__(self) -> None:
        self._has_whole = False
        self._numbers: dict[str, int] | None = None
        """Of strings, by first appearance; None: ids are whole numbers, or there was none yet."""

    def read(self, key: str | None, value: Any, *, empty: bool = False) -> "array[int]":
        """Return the ids of a list; `empty`: whether it may have none.

        Raises:
            InputError: it is no such list.

        """
        if value is None:
            raise InputError(f"{key} is missing: without it no reuse of prefixes can be simulated")
        if type(value) is not list or not (value or empty):
            raise InputError(
                f"{key} = {shown(value)}: must be a list of whole numbers, one for every chunk "
                '(none is for prompts below one chunk with hash_rounding = "floor")'
            )
        kinds = set(map(type, value))
        if kinds <= {int} and (self._numbers is None or not value):  # True is an int, but no id
            with suppress(OverflowError):
                found = array("Q", value)
                self._has_whole = self._has_whole or len(found) > 0
                return found
        if kinds == {str} and not self._has_whole and self._numbers is None:
            self._numbers = {}
        if kinds == {str} and self._numbers is not None:
            numbers = self._numbers
            return array("Q", [numbers.setdefault(each, len(numbers)) for each in value])
        bad = next((item for item in value if type(item) is not int or not 0 <= item <= LARGEST_ID), value[0])
        raise InputError(
            f"{key} holds {shown(bad)}: every id must be a whole number from 0 to 2^64 - 1, or every one of "
            "the trace a string"
        )
