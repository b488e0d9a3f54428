"""The first thing wrong with a record of a file, in the words that every message has."""

from typing import Any

from pydantic import ValidationError

_SHOWN_CHARACTERS = 60


def first_problem(error: ValidationError, *, table: str = "a table of keys") -> str:
    """Return "key = value: must be ..." of the first key that is wrong; of no key, what does not go together.

    Args:
        error: of validating the record.
        table: what the file's format calls a value with keys.

    """
    first = error.errors()[0]
    key, kind = ".".join(map(str, first["loc"])), first["type"]
    if kind == "missing":
        return f"{key} is missing"
    if kind == "extra_forbidden":
        return f"{key}: unknown key"
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        message = f"must be {table}"
    elif kind in {"tuple_type", "list_type"}:
        message = "must be a list"
    if not key:
        return message
    shown = _shown(first["input"])
    return f"{key}: {message}" if message.startswith(shown) else f"{key} = {shown}: {message}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
