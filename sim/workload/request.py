"""What a trace holds: requests in the order of their timestamps, and how many tokens a hash id stands for."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Request:
    """One turn of a session; not to be changed, though not frozen: a trace in columns makes many of them.

    `chunks` are the trace's hash ids, one for every `Trace.chunk_tokens` tokens of the prompt; the last may
    stand for fewer. Equal ids at equal sizes are equal tokens, whatever stands before them.
    """

    index: int
    """Position in the trace after sorting, from 0: the request's id everywhere."""
    session: str
    turn: int
    """Position within the session, from 0."""
    timestamp_s: float | None
    """When it leaves in an open-loop replay, from the start of the trace."""
    delay_s: float | None
    """Think time after the previous turn's answer, for a turn-dependent replay."""
    prompt_tokens: int
    output_tokens: int
    chunks: Sequence[int]


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests sorted by timestamp (stably) and what was done to the file to get them."""

    requests: Sequence[Request]
    chunk_tokens: int
    source: str
    """File name or profile name, for titles and messages."""
    notes: tuple[str, ...] = ()
    """What the reader changed or noticed, a sentence each: sorted, re-based, rows dropped."""

    lines: Sequence[int] = field(default=(), compare=False)
    """The line of each request in the file, if the trace is from one."""
    in_file: int | None = None
    """How many requests the file holds, taken or not; None if the trace is from no file."""

    def place(self, index: int) -> str:
        """Return what stands before a message about a request: file and line, if it has them."""
        return f"{self.source}, line {self.lines[index]}: " if self.lines else ""

    @property
    def sessions(self) -> tuple[str, ...]:
        """Session names in order of first appearance."""
        return tuple(dict.fromkeys(request.session for request in self.requests))
