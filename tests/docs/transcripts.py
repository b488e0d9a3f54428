"""Made-up transcripts of Claude Code for examples: twelve sessions of ten turns that begin alike."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sim.base.uniform import uniform

SESSIONS, TURNS = 12, 10
BEGIN = 14_000
"""Tokens of tools and system prompt, which all sessions share."""
NOON = datetime(2026, 1, 1, 12)


def write(folder: Path) -> None:
    """Write a file a session."""
    for session in range(SESSIONS):
        file = folder / f"-work-project-{session % 3}" / f"session-{session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in _rows(session)), encoding="utf-8")


def _rows(session: int) -> Iterator[dict[str, Any]]:
    at = NOON + timedelta(seconds=9 * session)
    kept, parent = BEGIN, None
    for turn in range(TURNS):
        draw = [uniform(0, "transcripts", session * TURNS + turn, k) for k in range(3)]
        new = round(24_000 * draw[0]) if turn == 0 else round(200 + 5_000 * draw[0] ** 3)
        answer = round(80 + 900 * draw[1] ** 2)
        asked, answered = f"u{turn}", f"a{turn}"
        yield _row(session, asked, parent, at, {"role": "user", "content": "a question"})
        at += timedelta(seconds=round(2 + answer / 60, 3))
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": new,
            "cache_read_input_tokens": kept,
            "output_tokens": answer,
        }
        said = {
            "role": "assistant",
            "id": f"m{session}-{turn}",
            "model": "opus",
            "content": [{"type": "text", "text": "an answer"}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        yield _row(session, answered, asked, at, said) | {"version": "2.1.0"}
        at += timedelta(seconds=round(3 + 20 * draw[2], 3))
        kept, parent = kept + new, answered


def _row(
    session: int, uuid: str, parent: str | None, at: datetime, message: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": message["role"],
        "uuid": f"{session}-{uuid}",
        "parentUuid": parent and f"{session}-{parent}",
        "timestamp": f"{at.isoformat(timespec='milliseconds')}Z",
        "sessionId": f"session-{session}",
        "message": message,
    }
