"""What messages say of a value that is wrong and of a name that is not known, wherever it was read."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sim.base.errors import shown


def first_problem(error: ValidationError, *, table: str = "a table of keys") -> str:
    """Return "key = value: must be ..." of the first key that is wrong; of no key, what does not go together.

    Args:
        error: of validating a record.
        table: what the file's format calls a value with keys.

    """
    first = error.errors()[0]
    key, kind, message = ".".join(map(str, first["loc"])), first["type"], reason(first, table)
    if kind == "missing":
        return f"{key} is missing"
    if kind == "extra_forbidden":
        return f"{key}: unknown key"
    if not key:
        return message
    value = shown(first["input"])
    return f"{key}: {message}" if message.startswith(value) else f"{key} = {value}: {message}"


def reason(details: ErrorDetails, table: str = "a table of keys") -> str:
    """Return what is wrong with a value, in the words that every message has: "must be ..."."""
    kind = details["type"]
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        return f"must be {table}"
    if kind in {"tuple_type", "list_type"}:
        return "must be a list"
    return details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return what to say after an unknown name: the nearest known one, if any is near, and all of them."""
    return f"{suggestion(map(repr, nearest(name, known)))} (known: {', '.join(sorted(known)) or 'none'})"


def nearest(name: str, known: Collection[str], most: int = 1) -> list[str]:
    """Return the known names that are near, the nearest first."""
    return get_close_matches(name, known, n=most)


def suggestion(names: Iterable[str]) -> str:
    """Return the question whether one of these was meant; nothing if there are none."""
    found = " or ".join(names)
    return f"; did you mean {found}?" if found else ""
