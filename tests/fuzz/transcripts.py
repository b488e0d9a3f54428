"""Logs of agents as a target of the fuzzer: transcripts, rollouts, spans, rounds, damaged."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

from sim.workload.findings import Findings
from sim.workload.formats import FORMATS
from sim.workload.formats.log import LogFormat
from sim.workload.lowering import rows_of, with_identity
from sim.workload.trace_file import load_trace
from tests.workload.formats.claude_code.lines import Line, boundary, notice, pair, reply, side, user
from tests.workload.formats.test_aiperf import RECORDS
from tests.workload.formats.test_codex import FORK, meta, session
from tests.workload.formats.test_otel import CHAT, NEW, THEN, otlp, span
from tests.workload.formats.test_tracelab import HEADER, ROUNDS

LOGS = {name: each for name, each in FORMATS.items() if isinstance(each, LogFormat)}


def _text(lines: Iterable[Line]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def _session() -> list[Line]:
    """A session with sub-agents in the background and inside, a compaction, a sum, a turn taken back."""
    searched = {"server_tool_use": {"web_search_requests": 1}}
    return [
        *pair(second=(10, 190, 990, 60), tool="t1"),
        user("u3", "a2", "10:00:26", result="t1", toolUseResult={"agentId": "X", "isAsync": True}),
        reply("a3", "u3", "10:00:28", "m3", (10, 90, 1180, 9), tool="t2"),
        *side([user("i1", None, "10:00:29"), reply("i2", "i1", "10:00:30", "m4", (5, 495, 200, 15))]),
        notice("10:00:36", "t1"),
        user("u4", "a3", "10:01:00", result="t2"),
        reply("a4", "u4", "10:01:05", "m5", (10, 900, 2270, 9), usage=searched),
        user("u5", "a3", "10:02:00"),
        reply("a5", "u5", "10:02:05", "m6", (10, 90, 1270, 9)),
        boundary("b", "a5", "10:03:00", preTokens=1400, durationMs=9000),
        user("u6", "b", "10:03:00", isCompactSummary=True),
        reply("a6", "u6", "10:03:05", "m7", (2, 398, 300, 20)),
    ]


def seeds() -> list[tuple[str, bytes]]:
    """Return logs of all kinds; their names tell the format."""
    agent = [user("s1", None, "10:00:27"), reply("s2", "s1", "10:00:30", "m8", (5, 495, 200, 15))]
    spans = [span("a", 0, 5, CHAT | NEW), span("b", 20, 5, CHAT | THEN, parent="a")]
    replay = f"{HEADER}\n0,100,0,0,512,64,1500\n0,100,1,576,128,64,0\n".encode()
    return [
        *[("claude-code-S.jsonl", _text(_session()))] * 3,
        ("claude-code-agent-X.jsonl", _text(side(agent, "X"))),
        ("codex-rollout-a.jsonl", _text(session())),
        ("codex-rollout-b.jsonl", _text([meta("t", "10:05:00", **FORK), *session()[1:]])),
        ("otel-spans.json", json.dumps(otlp(spans), indent=1).encode()),
        ("otel-spans.jsonl", _text(spans)),
        ("tracelab-rounds.jsonl", _text(ROUNDS)),
        ("tracelab-replay.csv", replay),
        ("aiperf-export.jsonl", _text(RECORDS)),
    ]


def read(path: Path, draw: random.Random) -> None:
    """Read a damaged log, alone or beside others of its format that are whole."""
    name = next(name for name in LOGS if path.name.startswith(name))
    paths = [path]
    for other, content in seeds() if draw.random() < 0.5 else ():
        if other.startswith(name) and other.endswith("l") and path.name.endswith("l"):
            paths.append(path.with_name(f"whole-{other}"))
            paths[-1].write_bytes(content)
    findings = Findings()
    calls = LOGS[name].calls(paths, findings)
    "\n".join([*findings.notes, *findings.dropped, *findings.fixed]).encode()
    for number, call in enumerate(calls):
        call.stream.encode()
        assert call.prompt_tokens > 0 <= call.output_tokens
        assert all(each < number for each in (*call.waits_for, -1 if call.parent is None else call.parent))
        assert 0 <= call.kept_tokens <= call.prompt_tokens
    assert len({call.name for call in calls}) == len(calls)
    chunk_tokens = draw.choice((16, 64, 4096))
    if sum(call.prompt_tokens for call in calls) < 10**8:
        rows_of(with_identity(calls, draw.choice(("append", "provider"))), chunk_tokens)
        load_trace(path, format=draw.choice(("auto", name)), chunk_tokens=chunk_tokens)
