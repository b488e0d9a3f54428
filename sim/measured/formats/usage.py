"""What the engine said of each request in its answer: the `usage` of the last chunk, recorded by the client.

In a disaggregated cluster these are the prefill engine's tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sim.measured.formats.records import Record, read_lines


@dataclass(frozen=True, slots=True)
class Usage:
    """One answer's account, as the engine gives it."""

    client_id: str
    """The id that the client gave the request."""
    request_id: str | None
    """The id that the router's log has of it."""
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    """Prompt tokens that the engine did not compute; None if it does not say."""


class _Details(Record):
    cached_tokens: int | None = None


class _Usage(Record):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _Details | None = None


class _Line(Record):
    id: str
    rid: str | None = None
    usage: _Usage


def read_usage(path: Path) -> Mapping[str, Usage]:
    """Return usage by the client's id, from JSONL with `id`, `rid` (as the response has it) and `usage`.

    Raises:
        InputError: a line is not such an object.

    """
    found = {}
    for _, line in read_lines(path, _Line):
        details = line.usage.prompt_tokens_details
        found[line.id] = Usage(
            line.id,
            line.rid and line.rid.removeprefix("chatcmpl-").removeprefix("cmpl-"),
            line.usage.prompt_tokens,
            line.usage.completion_tokens,
            details.cached_tokens if details else None,
        )
    return found
