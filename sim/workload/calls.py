"""Requests as logs of agents have them: lengths, times, what each shares with which earlier one; no hash ids.

Transcripts, spans and counters all come down to this; hash ids are made from it.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """A request of such a log. Calls refer to each other by their positions in a list."""

    stream: str
    """What its turns belong to: a session, a sub-agent."""
    name: str
    """What the log calls it."""
    send_s: float | None
    """None where the log only says how long after the one before in its stream."""
    end_s: float | None
    """When its answer was complete, on the clock of `send_s`; None where the log does not say."""
    prompt_tokens: int
    output_tokens: int
    parent: int | None = None
    """The earlier call with whose prompt its own begins; None: with none."""
    kept_tokens: int = 0
    """How many leading tokens of its prompt are those of its parent's prompt; without a parent, of its
    `group`."""
    answer_tokens: int = 0
    """How many tokens behind them begin the parent's answer; 0 unless all of its prompt is kept."""
    group: str | None = None
    """Calls of one group without a parent begin with the same tokens (tools and system prompt)."""
    waits_for: tuple[int, ...] = ()
    """Calls whose answers had to be there before it could be sent, as far as they do not imply each other;
    none: the one before it in its stream, if there is one."""
    cached_tokens: int | None = None
    """What the provider's cache gave, as recorded."""
    model: str | None = None
    ttft_s: float | None = None
    """How long after it was sent the first token came, as recorded."""
    delay_s: float | None = None
    """How long after what it waits for it was sent, where that is recorded as such."""
    line: int = 0
    """Where it stands in its file."""
    by_tool: bool | None = None
    """Whether the results of tools were what it was sent for, not what a person wrote; None: not known."""
