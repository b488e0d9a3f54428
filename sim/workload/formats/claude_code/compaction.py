"""Compactions: the request that makes a summary has no row of its own, only what it left behind."""

from collections import Counter
from collections.abc import Sequence

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.entries import Entry
from sim.workload.formats.claude_code.responses import Response
from sim.workload.formats.claude_code.streams import Stream

CHARACTERS_A_TOKEN = 4
"""Of a summary, whose tokens nothing counts."""


def compactions_of(
    streams: Sequence[Stream], responses: Sequence[Response], findings: Findings
) -> list[Response]:
    """Return the requests that made summaries, one for each boundary however often it was copied.

    Sent when the boundary was written less how long it took, with all tokens before it; the answer is the
    summary.
    """
    holders: dict[object, list[tuple[Stream, int]]] = {}
    for stream in streams:
        for place, entry in enumerate(stream.entries):
            if entry.boundary is not None:
                moment = (entry.time_us, entry.boundary.before_tokens)
                holders.setdefault(moment if entry.time_us else entry.uuid or moment, []).append(
                    (stream, place)
                )
    places: dict[str, list[Response]] = {}
    for response in sorted(responses, key=lambda each: each.place):
        places.setdefault(response.stream.name, []).append(response)
    found, n_copied = [], 0
    guessed: Counter[str] = Counter()
    for held in holders.values():
        stream, place = min(held, key=_first)
        found.append(_compaction(stream, place, places.get(stream.name, []), guessed))
        n_copied += len(held) - 1
    findings.drop("boundaries of a compaction copied from other files", n_copied)
    for what, n in sorted(guessed.items()):
        findings.fix(what, n)
    findings.say("compactions, each a request of its own", len(found))
    return found


def _first(held: tuple[Stream, int]) -> tuple[bool, int]:
    stream, place = held
    return stream.is_copy(stream.entries[place]), stream.rank


def _compaction(stream: Stream, place: int, others: Sequence[Response], guessed: Counter[str]) -> Response:
    entry = stream.entries[place]
    boundary = entry.boundary
    after = next((other for other in others if other.place > place), None)
    before = next((other for other in reversed(others) if other.place < place), None)
    characters = _summary_characters(stream, place, entry)
    if boundary is None or boundary.duration_us is None:
        guessed["compactions that do not say how long they took, taken as 0 s"] += 1
    if characters is None:
        guessed["compactions without a summary, whose output is taken as 1 token"] += 1
    since = stream.entries[before.place if before is not None else 0 : place]
    tokens = boundary.before_tokens if boundary is not None else None
    if tokens is None:
        guessed["compactions that do not say what they read, taken as the prompt and answer before"] += 1
        tokens = before.prompt_tokens + before.output_tokens if before is not None else 1
    end_us = entry.time_us or 0
    return Response(
        f"compact:{after.name if after is not None else entry.uuid or entry.line}",
        stream,
        place,
        [entry],
        frozenset(),
        None,
        tokens,
        max((characters or 0) // CHARACTERS_A_TOKEN, 1),
        0,
        model=before.model if before is not None else None,
        version=before.version if before is not None else None,
        send_us=end_us - (boundary.duration_us or 0 if boundary is not None else 0),
        end_us=end_us,
        results=[tool for each in since if each.prompt is not None for tool in each.prompt.results],
        why="compaction",
    )


def _summary_characters(stream: Stream, place: int, boundary: Entry) -> int | None:
    """Return the length of the summary behind a boundary."""
    for entry in stream.entries[place + 1 :]:
        if entry.prompt is not None and entry.prompt.summary_characters is not None:
            return entry.prompt.summary_characters
        if entry.reply is not None or entry.boundary is not None:
            break
    return None
