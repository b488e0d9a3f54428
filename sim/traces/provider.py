"""Both identities of a log: what prompts keep as the agent sent them, and as the provider's cache gave it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.traces.walk import walk
from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats import FORMATS
from sim.workload.formats.log import LogFormat
from sim.workload.lowering import kept_tokens, rows_of, with_identity
from sim.workload.request import Trace
from sim.workload.sources import found
from sim.workload.turns import in_order


@dataclass(frozen=True, slots=True)
class Kept:
    """Tokens that prompts have from earlier ones, counted one by one; and the provider's ideal hit."""

    append: int
    provider: int
    ideal_hit_provider: float | None
    """In whole chunks, as that of the trace."""


def both_identities(trace: Trace, paths: Sequence[Path]) -> Kept | None:
    """Return both identities of a log that was read from these paths; None of a trace with hash ids.

    Raises:
        InputError: a file cannot be read.

    """
    log = FORMATS.get(trace.format or "")
    if not isinstance(log, LogFormat):
        return None
    taken = frozenset(trace.sessions)
    calls = log.calls([*found(paths, log.name).files], Findings())
    provided = with_identity(calls, "provider")
    rows = rows_of(calls, trace.chunk_tokens, identity="provider")
    requests = in_order(rows, len(taken), 1.0, Findings())
    return Kept(
        kept_tokens(_of(calls, taken)),
        kept_tokens(_of(provided, taken)),
        walk(Trace(requests, trace.chunk_tokens, trace.source)).ideal_hit,
    )


def _of(calls: Sequence[Call], streams: frozenset[str]) -> list[Call]:
    return [call for call in calls if call.stream in streams]
