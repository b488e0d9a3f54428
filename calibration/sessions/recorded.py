"""Recorded sessions of kv-cache-tester in lengths: the main agent's requests, and what each repeats."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns, runs_of

BLOCK_TOKENS = 64
"""Tokens that a hash id of these files stands for; what is behind the last whole block has none."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Session:
    """One session, recorded or generated, a number a turn."""

    prompt: Numbers
    output: Numbers
    kept: Numbers
    """Tokens in whole blocks that repeat the prompt before; 0 at first."""
    seen: Numbers
    """Tokens in whole blocks that some prompt of the session before had at the same place."""
    think_s: Numbers
    """From the end of the answer before; nan where that is not known."""
    gap_s: Numbers
    """From the start of the turn before."""
    user: NDArray[np.bool_]
    """Turns that bring no result of a tool."""

    @property
    def growth(self) -> Numbers:
        """By how much each prompt but the first is longer than the one before."""
        return np.diff(self.prompt)

    @property
    def lost_blocks(self) -> Numbers:
        """Whole blocks of the prompt before that each prompt but the first does not keep."""
        return (self.prompt[:-1] // BLOCK_TOKENS) - self.kept[1:] // BLOCK_TOKENS

    @property
    def appends(self) -> NDArray[np.bool_]:
        """Turns but the first that keep all whole blocks of the prompt before but for the last one."""
        return (self.growth >= 0) & (self.lost_blocks <= 1)

    @property
    def shrinks(self) -> NDArray[np.bool_]:
        """Turns but the first whose prompt is shorter than the one before."""
        return self.growth < 0

    @property
    def breaks(self) -> NDArray[np.bool_]:
        """Turns but the first that neither shrink nor append."""
        return (self.growth >= 0) & (self.lost_blocks > 1)


def read_sessions(traces: Path, names: Path | None) -> list[Session]:
    """Return the sessions of a file (an object a line, gzip or not) or of a folder of such objects.

    Args:
        traces: `traces_710_rle.jsonl.gz`, with `hash_runs`, or the folder of `trace_*.json` upstream.
        names: JSON with the sessions to take, in order: a list, or `sessions_in_nested_order`; None for all.

    """
    found = {str(trace["id"]): trace for trace in _objects(traces)}
    if names is None:
        return [_session(trace) for trace in found.values()]
    listed = json.loads(names.read_text(encoding="utf-8"))
    order = listed["sessions_in_nested_order"] if isinstance(listed, dict) else listed
    return [_session(found[name]) for name in order]


def _objects(traces: Path) -> Iterator[Mapping[str, Any]]:
    if traces.is_dir():
        for file in sorted(traces.glob("*.json")):
            yield json.loads(file.read_text(encoding="utf-8"))
        return
    with gzip.open(traces, "rt", encoding="utf-8") if traces.suffix == ".gz" else traces.open() as lines:
        for line in lines:
            yield json.loads(line)


def _session(trace: Mapping[str, Any]) -> Session:
    requests = [request for request in trace["requests"] if request["type"] != "subagent"]
    table = PrefixTable(BLOCK_TOKENS, BLOCK_TOKENS)
    kept, seen = [], []
    before = BlockRuns([])
    for request in requests:
        blocks = _blocks(request)
        tokens = len(blocks) * BLOCK_TOKENS
        seen.append(tokens - table.add(blocks, tokens).required_tokens)
        kept.append(_common(before, blocks) * BLOCK_TOKENS)
        before = blocks
    sent = np.array([request["t"] for request in requests], float)
    service = np.array([request.get("api_time") or nan for request in requests], float)
    return Session(
        prompt=np.array([request["in"] for request in requests], float),
        output=np.array([request["out"] for request in requests], float),
        kept=np.array(kept, float),
        seen=np.array(seen, float),
        think_s=np.diff(sent) - service[:-1],
        gap_s=np.diff(sent),
        user=np.array(["tool_result" not in request["input_types"] for request in requests]),
    )


def _blocks(request: Mapping[str, Any]) -> BlockRuns:
    if "hash_runs" in request:
        return BlockRuns([range(first, first + n) for first, n in request["hash_runs"]])
    return BlockRuns(runs_of(request["hash_ids"]))


def _common(left: BlockRuns, right: BlockRuns) -> int:
    """Return how many leading blocks are the same."""
    n = 0
    for a, b in zip(left.ranges, right.ranges, strict=False):
        if a.start != b.start:
            break
        n += min(len(a), len(b))
        if len(a) != len(b):
            break
    return n
