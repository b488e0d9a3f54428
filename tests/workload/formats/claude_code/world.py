"""What agents sent, known before it is written, and the files in which they write it down."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Row = dict[str, Any]
EPOCH_MS = 1_767_261_600_000
MINUTE = 60_000
SECRET = "SECRET-7f"
"""In all that a transcript has of texts."""


@dataclass(eq=False)
class Sent:
    """A request as it was."""

    stream: str
    name: str
    model: str | None
    send: int
    end: int
    total: int
    output: int
    read: int | None
    """From the provider's cache; None where only a sum is known."""
    parent: "Sent | None" = None
    kept: int = 0
    answer: int = 0
    group: tuple[str, str, str] | None = None
    waits: list["Sent"] = field(default_factory=list)
    before: "Sent | None" = None
    by_tool: bool | None = None
    entry: int = 0
    """What the provider has of it from now on, in tokens."""
    ttl: int = 5 * MINUTE
    last_row: str = ""


def stamp(ms: int) -> str:
    seconds, rest = divmod(EPOCH_MS + ms, 1000)
    days, of_day = divmod(seconds, 86_400)
    hours, of_hour = divmod(of_day, 3600)
    day = days - 20_454 + 1
    return f"2026-01-{day:02d}T{hours:02d}:{of_hour // 60:02d}:{of_hour % 60:02d}.{rest:03d}Z"


class World:
    """Files by their paths and requests, filled by sessions."""

    def __init__(self, seed: int, features: set[str]) -> None:
        self.random = Random(seed)
        self.features = features
        self.files: dict[str, list[tuple[int, int, Row]]] = {}
        self.sent: list[Sent] = []
        self._taken: set[int] = set()
        self._n = 0

    def chance(self, feature: str, of: float = 0.35) -> bool:
        return feature in self.features and self.random.random() < of

    def id(self, kind: str) -> str:
        self._n += 1
        return f"{kind}{self._n}"

    def at(self, ms: int) -> int:
        """Return the first free instant from one on: requests are told by when they ended."""
        while ms in self._taken:
            ms += 1
        self._taken.add(ms)
        return ms

    def write(self, path: str, at: int, row: Row) -> None:
        self._n += 1
        self.files.setdefault(path, []).append((at, self._n, row))

    def rows(self, path: str) -> list[Row]:
        return [row for _, _, row in sorted(self.files[path], key=lambda each: each[:2])]

    def save(self, root: Path) -> None:
        for path in self.files:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row) for row in self.rows(path)]
            if "cut" in self.features and path.endswith(".jsonl"):
                lines.append('{"type": "assistant", "uuid": "cut", "message": {"id": "cut", "usa')
            file.write_text("\n".join(lines) + ("" if "cut" in self.features else "\n"))


def usage(after: int, made: int, read: int, output: int, hour: bool = False) -> Row:
    return {
        "input_tokens": after,
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 0 if hour else made,
            "ephemeral_1h_input_tokens": made if hour else 0,
        },
    }
