"""Claude Code's transcripts: the requests behind them, without any of their text.

They are described by nobody officially. Requests are rebuilt from ids, links, times and counts, as the tools
that read them do (Dynamo's coding exporter, TraceLab, ccusage, tokscale), where these agree and the API's own
counts bear it out. Files are read to `streams` of lines, these to `responses`, with `lengths` and `times`;
`structure`, `agents` and `compaction` tell what comes before what, `identity` what prompts share.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.claude_code.agents import link_agents
from sim.workload.formats.claude_code.calls import calls_of
from sim.workload.formats.claude_code.compaction import compactions_of
from sim.workload.formats.claude_code.files import SUBAGENTS, default_roots, files_of, read
from sim.workload.formats.claude_code.identity import set_kept
from sim.workload.formats.claude_code.lengths import mend_sums
from sim.workload.formats.claude_code.order import ordered
from sim.workload.formats.claude_code.responses import responses_of
from sim.workload.formats.claude_code.streams import streams_of
from sim.workload.formats.claude_code.structure import set_predecessors
from sim.workload.formats.claude_code.times import set_times
from sim.workload.formats.log import LogFormat

__all__ = ["FORMAT", "calls", "default_roots", "files_of"]

SIGNS = (
    frozenset({"sessionId", "type"}),
    frozenset({"parentUuid", "uuid"}),
    frozenset({"leafUuid", "type"}),
    frozenset({"uuid", "isSidechain"}),
)
"""Keys of a line, any set of them."""


def tells(record: Mapping[str, Any]) -> bool:
    """Whether an object is a line of a transcript."""
    return any(sign <= record.keys() for sign in SIGNS)


def calls(paths: Sequence[Path], findings: Findings) -> list[Call]:
    """Return the requests of files, and of all transcripts in folders, in the order of their times.

    Raises:
        InputError: a file cannot be read, or there is no response in any.

    """
    transcripts = read(paths, findings)
    streams = streams_of(transcripts)
    responses = responses_of(streams, findings)
    if not responses:
        where = ", ".join(map(str, paths))
        raise InputError(
            f"{where}: {len(transcripts)} transcripts without a response of a model"
            if transcripts
            else f"{where}: no transcript in it (*.jsonl)"
        )
    findings.notes.append(
        f"transcripts read: {len(transcripts):,}; responses of models in them: {len(responses):,}"
    )
    findings.say("transcripts of its sub-agents beside the file, not read", _beside(paths))
    set_times(streams, responses, findings)
    compactions = compactions_of(streams, responses, findings)
    set_predecessors(streams, responses, compactions, findings)
    agent_types = link_agents(streams, [*responses, *compactions], findings)
    mend_sums(responses, findings)
    turns = ordered([*responses, *compactions], findings)
    set_kept(turns, findings)
    _note_models(responses, findings)
    findings.notes.append(
        "in no transcript, so that real traffic has more small requests: titles, topics, suggested prompts, "
        "summaries of web pages, warm-ups"
    )
    return calls_of(turns, agent_types)


def _beside(paths: Sequence[Path]) -> int:
    """Return how many transcripts of sub-agents there are of a session that was given alone."""
    if len(paths) != 1 or paths[0].is_dir():
        return 0
    folder = paths[0].with_name(paths[0].name.partition(".jsonl")[0]) / SUBAGENTS
    return len(files_of(folder)) if folder.is_dir() else 0


def _note_models(responses: Sequence[Any], findings: Findings) -> None:
    models: dict[str, set[str]] = {}
    for response in responses:
        if response.model is not None:
            models.setdefault(response.stream.name, set()).add(response.model)
    findings.say("streams with several models", sum(len(each) > 1 for each in models.values()))
    findings.fix(
        "responses whose output may be longer than counted, as no row says why they ended",
        sum(not response.is_complete for response in responses),
    )


FORMAT = LogFormat("claude-code", tells, calls)
