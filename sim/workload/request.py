"""What a trace holds: requests in the order of their timestamps, and how many tokens a hash id stands for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sim.workload.recorded import Recorded

Answers = Literal["returned", "fresh"]
"""Whether prompts hold what was answered before ("returned"), or other tokens in its place ("fresh")."""
Rounding = Literal["ceil", "floor"]
"""Whether what is left of a prompt after its full chunks has a hash id, or none."""
Ends = Rounding | Literal["never"]
"""The same, or that the last chunk of a prompt has no id that can be relied on, full or not."""


class Answer(NamedTuple):
    """Tokens of a prompt that are the answer to an earlier request, from its first one on.

    What stands before them is that request's prompt, all of it.
    """

    request: int
    """Its index."""
    start: int
    """The first of the tokens in the prompt that holds them: the length of that request's prompt."""
    end: int
    """Behind the last of them."""


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
    waits_for: tuple[int, ...] = ()
    """Requests, by index, that must have ended before its think time begins, in a turn-dependent replay; of
    other sessions too. Without any, the turn before."""
    answer: Answer | None = None
    """Which of its prompt tokens are an earlier answer, where the trace knows."""
    priority: int = 0
    """Higher is more urgent: seconds by which Dynamo's router takes it to have come earlier, if it waits."""
    model: str | None = None
    """What the trace names."""
    cancel_after_s: float | None = None
    """How long after it was sent its client gave it up; None: it did not."""
    strict_priority: int = 0
    """The tier of the router's queue in which it waits; higher ones go first."""
    policy_class: str | None = None
    """The family of policy classes of the router's queue that it asks for."""
    tag: str | None = None
    """What its trace calls requests of its kind, such as a stage of the load."""


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
    """The line of each request in its file, if the trace is from one."""
    files: Sequence[str] = field(default=(), compare=False)
    """Names of its files, if there are several."""
    file_of: Sequence[int] = field(default=(), compare=False)
    """Which of them each request is from."""
    in_file: int | None = None
    """How many requests the file holds, taken or not; None if the trace is from no file."""
    answers: Answers = "fresh"
    """How the traffic was that it records: what a replay does unless it is told otherwise."""
    marks_answers: bool = False
    """Whether it knows of every prompt what it holds of answers: what is not marked then is none."""
    has_tags: bool = False
    """Whether it tags any request."""
    format: str | None = None
    """The format of its file."""
    recorded: Sequence[Recorded] = field(default=(), compare=False)
    """What was measured of each request, if the trace says anything of that."""
    dropped: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Rows of the file that are no request of the trace, counted by reason."""
    fixed: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Rows that were changed to be used, counted by what was done."""

    def place(self, index: int) -> str:
        """Return what stands before a message about a request: file and line, if it has them."""
        if not self.lines:
            return ""
        file = self.files[self.file_of[index]] if self.files else self.source
        return f"{file}, line {self.lines[index]}: "

    @property
    def first_index(self) -> int:
        """The index of its first request: 0, unless it is to be sent beside another trace."""
        return self.requests[0].index if self.requests else 0

    @property
    def sessions(self) -> tuple[str, ...]:
        """Session names in order of first appearance."""
        return tuple(dict.fromkeys(request.session for request in self.requests))
