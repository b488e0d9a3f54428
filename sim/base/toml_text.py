"""TOML from files and options: bounded, and where in a text each key is given."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

MOST_PARTS = 32
"""Of a dotted key; a scenario's have four."""
SPARE_CHARACTERS = 1 << 18
"""That are read again, at most, to look for a key in statements of many lines."""

_LONG_KEY = re.compile(
    r"""(?:(?<![\w.-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
    rf"""(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')){{{MOST_PARTS},}}"""
)


def parse(text: str) -> dict[str, Any]:
    """Return what TOML text says.

    Raises:
        ValueError: it is not TOML, or nests deeper than any settings do.

    """
    if _LONG_KEY.search(text):
        raise ValueError(f"a dotted key of more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    """Return the line of TOML text that gives a key, or else its table; None if nothing does."""
    statements = _statements(text)
    for depth in range(len(key), 0, -1):
        for line, data in statements:
            if _has(data, key[:depth]):
                return line
    return None


@lru_cache(maxsize=4)
def _statements(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Return each statement's first line, from 1, and what it says in the place where it stands."""
    return [*_each_statement(text.split("\n"))]


def _each_statement(lines: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """A statement is the least number of lines that are TOML of their own."""
    table, start, left = "", 0, SPARE_CHARACTERS + sum(map(len, lines))
    for end in range(1, len(lines) + 1):
        statement = "\n".join(lines[start:end])
        left -= len(statement)
        if left < 0:
            return
        try:
            said = tomllib.loads(statement)
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        if statement.lstrip().startswith("["):
            table = statement
        elif said and table:
            said = tomllib.loads(f"{table}\n{statement}")
        if said:
            yield start + 1, said
        start = end


def is_place(part: str) -> bool:
    """Whether a part of a key may be the place of an entry in a list."""
    return len(part) < 10 and part.isascii() and part.isdecimal()


def _has(data: Any, key: tuple[str, ...]) -> bool:
    for part in key:
        if isinstance(data, list) and is_place(part) and int(part) < len(data):
            data = data[int(part)]
            continue
        if not isinstance(data, Mapping) or part not in data:
            return False
        data = data[part]
    return True
