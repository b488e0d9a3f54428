"""Keys that stand twice in an object of JSON: readers take the last, whoever wrote the file may not."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from sim.measured.folder import RunFile
from sim.measured.roles import Role
from sim.reading import lines
from sim.units import plural

_JSON_LINES = (Role.KV_EVENTS, Role.METRICS_SERIES, Role.REQUEST_TRACE, Role.USAGE, Role.TRACE)
_JSON = (Role.BENCH, Role.COMMANDS)


def repeated_keys(files: Sequence[RunFile]) -> Iterator[str]:
    """Yield a sentence for each file with such keys: how many objects, and which key in which line first."""
    for file in files:
        found: Counter[str] = Counter()
        first = 0
        for number, text in _texts(file):
            before = found.total()
            _count(text, found)
            first = first or (number if found.total() > before else 0)
        if found:
            key, n = next(iter(found)), found.total()
            where = f", line {first}" if file.role in _JSON_LINES else ""
            yield (
                f'{file.path.name}{where}: the key "{key}" stands twice in an object, the last value counts '
                f"({n} such {plural(n, 'key')} in all)"
            )


def _texts(file: RunFile) -> Iterator[tuple[int, bytes]]:
    if file.role in _JSON_LINES:
        yield from lines(file.path)
    elif file.role in _JSON:
        yield 1, b"".join(line for _, line in lines(file.path))


def _count(text: bytes, found: Counter[str]) -> None:
    def pairs(content: list[tuple[str, Any]]) -> None:
        if len(content) > 1 and len({key for key, _ in content}) < len(content):
            found.update(key for key, n in Counter(key for key, _ in content).items() if n > 1)

    # What is no JSON its reader refuses.
    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=pairs)
