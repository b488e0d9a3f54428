"""What a scenario says about the workload and how to replay it."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, CountOrZero, Factor
from sim.base.settings import Settings
from sim.base.units import Seconds, Tokens
from sim.workload.agent import ProfileName
from sim.workload.formats import FormatName
from sim.workload.lowering import BreakPrefix, Identity
from sim.workload.request import Answers, Rounding
from sim.workload.synthetic.kinds import Synthetic

WINDOWED = frozenset({"window", "think_factor", "max_think_s", "start_gap_s"})
"""Keys that say how `turns` of each session are taken: beside a path they need it."""
OF_SOURCE = {
    "path": frozenset(
        {
            "sessions",
            "format",
            "full_prompts",
            "hash_rounding",
            "chunk_tokens",
            "sec_multiplier",
            "identity",
            "break_prefix",
            "resample",
        }
    ),
    "profile": frozenset({"sessions", "turns", "max_context_tokens"}) | WINDOWED,
    "synthetic": frozenset[str](),
}
"""Where requests come from, and the keys that mean something beside that."""
NOT_BESIDE = {
    source: frozenset(OF_SOURCE).union(*OF_SOURCE.values()) - {source, *own}
    for source, own in OF_SOURCE.items()
}
"""Keys without a meaning beside a source: an override that sets the source drops them."""

_Count = Annotated[int, Field(gt=0, le=10_000_000)]
Window = Literal["first", "middle"] | Annotated[int, Field(ge=0, le=10_000_000)]


class WorkloadSettings(Settings):
    """Where the requests come from: a trace file, the coding-agent generator, or a description. Only one."""

    path: Path | tuple[Path, ...] | None = None
    """Trace: a file, plain or gzipped, a list of files, a folder, a pattern of names (`part-*.jsonl.gz`), or
    "-" for standard input; relative to the scenario's folder."""
    profile: ProfileName | None = None
    """Sessions to generate: "talk" (as the talk's: 217K tokens of context), "talk-1m" (the same with an
    assumed tail of contexts up to 1M) or "kct" (as public ones: 93K)."""
    synthetic: Synthetic | None = None
    """Requests to make as described: `kind` "chat", "shared-prefix" or "rows", and what belongs to it."""
    sessions: _Count | None = None
    """Take the first so many sessions of a file, with their sub-agents (all if absent), or of a profile
    generate so many."""

    format: FormatName = "auto"
    """Format of the file. "auto" tells from its keys and timestamps; "mooncake-delta" (AIPerf's
    mooncake_trace with sessions) has rows that hold only what a turn adds to prompt and answer before it,
    which "auto" takes them for only where nothing else is possible."""
    full_prompts: bool = False
    """Says that rows hold full prompts although most turns start with other hash ids than the turn before."""
    hash_rounding: Rounding | None = None
    """Whether what is left of a prompt after its full chunks has an id ("ceil"), or none ("floor"); found
    from the id counts if absent."""
    chunk_tokens: Count | None = None
    """Tokens that one hash id of the file stands for; found from the id counts if absent."""
    sec_multiplier: Factor | None = None
    """Seconds a unit of a `timed_trace` timestamp, as vLLM's --timed-trace-sec-multiplier; 1 if absent."""
    identity: Identity = "append"
    """What prompts of a log share, which has counts and no hash ids: "append", all that the agent sent again;
    "provider", only what the cache of the provider gave, where text that had expired there is new."""
    break_prefix: BreakPrefix | None = None
    """What breaks the prefixes of a log: "billing-header", a system block that is different in every request
    of Claude Code, which a server of one's own may leave in its place; unset: nothing."""

    resample: bool | None = None
    """Whether a file with fewer `sessions` than are asked for gives those it has once more, drawn by the seed
    (or `session_set`), with other content but for what sessions of the file share; unset: it is refused."""
    fresh_prompts: bool | None = None
    """Whether every prompt gets content that no other has, so that no cache is of use; unset: as it is."""
    session_set: CountOrZero | None = None
    """Which of many sets of sessions: those that this seed generates, in place of the scenario's, or the
    sessions of a trace in an order drawn for this number, 0 being that of the file. Unset: the scenario's
    seed, the file's order."""
    turns: _Count | None = None
    """Turns of each session; unset: as many as its profile draws, or as a trace has. Windows of a trace are
    timed as generated sessions are, from recorded services and think times, and have no sub-agents."""
    window: Window = "middle"
    """Which turns those are: the first, those around the middle of the session, or those from a turn on, the
    first being 0; a session that has too few behind it gives its last ones."""
    max_context_tokens: Tokens | None = None
    """Generated sessions end before the first turn whose prompt and answer have more tokens than this, as one
    does that its model cannot serve; unset: none does."""
    think_factor: Factor | None = None
    """Think times of generated sessions, and in windows of a trace, are multiplied by this, and timestamps
    follow; `replay.think_factor` moves those of a turn-dependent replay alone. Unset: 1."""
    max_think_s: Seconds = 60.0
    """They are cut to this then."""
    start_gap_s: Seconds = 0.5
    """Time from the start of one of these sessions to the next."""
    output_factor: Factor = 1.0
    """Output lengths are multiplied by this and rounded up; prompts stay as they are."""

    @property
    def meaningless(self) -> frozenset[str]:
        """Keys without a meaning beside the others."""
        if self.path is None:
            return NOT_BESIDE[self.source]
        return NOT_BESIDE["path"] - {"turns"} - (frozenset() if self.turns is None else WINDOWED)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All that `path` gives."""
        return () if self.path is None else (self.path,) if isinstance(self.path, Path) else self.path

    @property
    def source(self) -> str:
        """Which key says where requests come from."""
        return next(key for key in OF_SOURCE if getattr(self, key) is not None)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(getattr(self, key) is not None for key in OF_SOURCE) != 1:
            raise ValueError(
                "give either path (a trace file) or profile (sessions of agents to generate) or synthetic "
                "(requests as described), not both"
            )
        given = self.model_fields_set & self.meaningless
        if misplaced := {key for key in given if getattr(self, key) is not None}:
            names = ", ".join(sorted(misplaced))
            if self.path is not None and misplaced <= WINDOWED:
                raise ValueError(f"{names}: only beside profile or, of a trace, beside turns")
            others = [key for key, own in OF_SOURCE.items() if own & misplaced]
            raise ValueError(f"{names}: only beside {' or '.join(others)}, but {self.source} is given")
        if self.path == ():
            raise ValueError("path = []: give at least one file")
        if self.profile and self.sessions is None:
            raise ValueError("sessions is missing: a profile generates as many as it says")
        return self


class ReplaySettings(Settings):
    """When each request leaves, what was cached before, and which of them count."""

    client: Literal["open-loop", "max-concurrency", "turn-dependent"] = "max-concurrency"
    """At its timestamp; the same behind a limit on requests in flight; or after the previous answer."""
    max_concurrency: Count | Literal["sessions"] = "sessions"
    """Limit of client "max-concurrency" on requests in flight; "sessions": the number of sessions."""
    speedup: Factor = 1.0
    """Timestamps are divided by this; think times are not."""
    answers: Answers | None = None
    """Whether prompts hold what was answered before ("returned"), and hit blocks that decode made, or other
    tokens in its place ("fresh"), as those of a client that makes prompts from hash ids; unset: as the trace
    says."""
    timeout_s: Annotated[Seconds, Field(gt=0)] | None = None
    """How long after it was sent a client gives a request up that has not ended; unset: never."""
    retries: Annotated[int, Field(ge=0, le=1000)] = 0
    """How often a client sends a request again that was refused, with a growing wait in between; OpenAI's and
    Anthropic's clients do so twice unless told otherwise. Its TTFT counts from its first sending."""
    retry_backoff_s: Seconds = 0.5
    """How long it waits before the first time; each later wait is twice as long, up to 8 s, and a draw takes
    up to a quarter off."""
    retry_after_s: Seconds | None = None
    """What refusals ask clients to wait (Retry-After), which they do instead if it is at most 60 s; unset:
    refusals ask for nothing."""
    think_factor: Factor | None = None
    """Think times that the trace has are multiplied by this, for client "turn-dependent"; unset: 1."""
    max_think_s: Seconds | None = None
    """Longest time from an answer to the request that follows it, for client "turn-dependent": longer ones
    are cut to this, and later timestamps of the session come earlier by as much. AgentX has 60 s; unset:
    no limit."""

    warm_start: Literal["first-contexts", "shared-prefixes", "smaller-run"] | None = None
    """What the cluster serves before the clock of the measured part starts, so that its caches are warm:
    each session's first prompt; every prefix that prompts of two sessions share; or a run of the first
    `warm_sessions`. None of it counts. Unset: caches are empty."""
    warm_sessions: Count | Annotated[tuple[Count, ...], Field(min_length=1, max_length=100)] | None = None
    """Sessions of the smaller run of warm_start "smaller-run", or of several, one after another."""
    warm_placement: Literal["router", "spread"] | None = None
    """Who chooses the worker of a prompt of the other two: the router, all of them being sent at once, or
    their order, each going to the next worker of the first stage in turn. Unset: the router."""

    warm_up_requests: CountOrZero | None = None
    """The first so many requests that are sent are served, and are in the tables, but count in nothing else;
    nor do rates begin before the first that counts is sent."""
    warm_up_s: Seconds | None = None
    """The same for requests sent within this time from the start."""

    lanes: Count | None = None
    """Sessions kept busy, for client "turn-dependent": each lane starts with one of them, with its
    sub-agents, and takes the next of the trace when that has ended; timestamps only tell its pauses."""
    lane_gap_s: Seconds = 0.0
    """Time from one lane's first session to the next one's; 0: all begin at once, so that their turns come
    together for as long as nothing drives them apart."""
    duration_s: Annotated[Seconds, Field(gt=0)] | None = None
    """How long lanes send requests; a trace that is used up begins anew, with sessions of other content but
    for what two of them share. Rates are over this time. Unset: until the trace is used up."""
    at_end: Literal["finish", "cut"] | None = None
    """What becomes of requests in flight when `duration_s` is over; unset: they finish."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        runs = self.warm_start == "smaller-run" or (
            self.warm_start is None and self.warm_sessions is not None
        )
        if self.warm_start == "smaller-run" and self.warm_sessions is None:
            raise ValueError("warm_sessions is missing: of how many sessions is the smaller run?")
        if self.warm_sessions is not None and not runs:
            raise ValueError('warm_sessions: only for warm_start = "smaller-run"')
        if self.warm_placement is not None and (runs or self.warm_start is None):
            raise ValueError('warm_placement: only for warm_start = "first-contexts" or "shared-prefixes"')
        if self.lanes is not None and self.client != "turn-dependent":
            raise ValueError('lanes: only for client = "turn-dependent", which waits for answers')
        if self.lane_gap_s and self.lanes is None:
            raise ValueError("lane_gap_s: only beside lanes, which it lets begin")
        if self.duration_s is not None and self.lanes is None:
            raise ValueError("duration_s: only beside lanes, which are kept busy for so long")
        if self.duration_s is not None and self.duration_s <= (self.warm_up_s or 0.0):
            raise ValueError("warm_up_s: must be below duration_s, or nothing counts")
        if self.at_end is not None and self.duration_s is None:
            raise ValueError("at_end: only beside duration_s")
        return self

    @property
    def smaller_runs(self) -> tuple[int, ...]:
        """Sessions of each run before the measured one."""
        found = self.warm_sessions
        return () if found is None else found if isinstance(found, tuple) else (found,)
