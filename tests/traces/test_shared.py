"""Every file and folder of recorded traces: figures measured of it elsewhere, or why it is refused.

Figures: 1 of the fact sheet of traces, the made-up Claude Code folder worked out by hand, TraceLab's sample.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from sim.base.errors import InputError
from sim.commands.trace_source import look_at
from tests.workload.files import SHARED_TRACES, needs_shared

pytestmark = needs_shared


class Figures(NamedTuple):
    format: str
    requests: int
    sessions: int
    hit_percent: float
    """Rounded as there."""
    prompt_k: tuple[float, float, float] | None = None
    """p10, p50, p90 in thousands of tokens."""
    new_p50: float | None = None
    unique_m: float | None = None
    """Working set in millions of tokens."""


READ = {
    "mooncake/conversation_trace.jsonl": Figures(
        "mooncake", 12_031, 12_031, 37.4, (1.0, 6.9, 27), None, 93.6
    ),
    "mooncake/arxiv_le16384_first865.jsonl": Figures("mooncake", 865, 865, 59.3),
    "dynamo/mooncake_trace_1000.jsonl": Figures("mooncake", 1000, 1000, 39.1, (2.1, 6.6, 20), None, 6.25),
    "dynamo/pi_request_trace.jsonl.gz": Figures("dynamo", 17, 5, 71.7),
    "talk-like-53/t28x20_mid20_local.jsonl.gz": Figures(
        "mooncake", 560, 28, 93.2, (130, 214, 340), 1068, 8.87
    ),
    "talk-like-53/t28x20_first20_sharedtools.jsonl.gz": Figures("mooncake", 560, 28, 93.4),
    # Answers in prompts count as new: 93.4 without them.
    "aiperf/agentic_code_1131s_seed42.delta.jsonl.gz": Figures(
        "mooncake-delta", 14_056, 1205, 93.0, (52, 98, 170)
    ),
    "kv-cache-tester/raw_trace_0001.json.gz": Figures("kv-cache-tester", 41, 1, 93.3),
    "kv-cache-tester/raw_trace_0003.json.gz": Figures("kv-cache-tester", 409, 3, 95.0),
    "kv-cache-tester/raw_trace_0700.json.gz": Figures("kv-cache-tester", 46, 1, 96.7),
    "claude-code/projects": Figures("claude-code", 9, 3, 68.3),
    "claude-code/projects/-work-demo/S1.jsonl": Figures("claude-code", 6, 1, 68.3),
    "claude-code/projects/-work-demo/S2.jsonl": Figures("claude-code", 3, 1, 61.3),
    "claude-code/projects/-work-demo/S1/subagents/agent-a1.jsonl": Figures("claude-code", 2, 1, 42.7),
    "claude-code/tracelab_sample.jsonl": Figures("claude-code", 10, 1, 88.4),
    "claude-code/expected_rows.jsonl": Figures("mooncake", 9, 3, 68.9),
    "tracelab/example_round_trace.jsonl": Figures("tracelab", 19, 2, 87.9),
    "tracelab/multi_session_example.csv": Figures("tracelab", 8, 3, 55.5),
    "hostile/probe_agentic.jsonl": Figures("agentic_mooncake", 3, 2, 17.1),
    "hostile/probe_agentic_dupid.jsonl": Figures("agentic_mooncake", 1, 1, 0),
    "hostile/probe_alias.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_base.jsonl": Figures("mooncake", 2, 2, 50),
    "hostile/probe_bigid.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_blank.jsonl": Figures("mooncake", 2, 2, 50),
    "hostile/probe_conc.jsonl": Figures("mooncake", 8, 8, 87.5),
    "hostile/probe_delta.jsonl": Figures("mooncake-delta", 2, 1, 41.6),
    "hostile/probe_delta_nosess.jsonl": Figures("mooncake", 2, 2, 0),
    "hostile/probe_dupids.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_negts.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_offset.jsonl": Figures("mooncake", 2, 2, 50),
    "hostile/probe_sess_delay.jsonl": Figures("mooncake", 2, 1, 20.5),
    "hostile/probe_sess_nots2.jsonl": Figures("mooncake", 2, 1, 20.5),
    "hostile/probe_sess_ts.jsonl": Figures("mooncake", 2, 1, 20.5),
    "hostile/probe_strids.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_toomany.jsonl": Figures("mooncake", 1, 1, 0),
    "hostile/probe_unsorted.jsonl": Figures("mooncake", 2, 2, 50),
    "hostile/probe_zeroout.jsonl": Figures("mooncake", 1, 1, 0),
}
REFUSED = {
    "aiperf/manifest.json": "is JSON over many lines",
    "aiperf/quality.json": "is JSON over many lines",
    "azure-splitwise/splitwise_code.csv": "Azure's trace (Splitwise)",
    "azure-splitwise/splitwise_conv.csv": "Azure's trace (Splitwise)",
    "kv-cache-tester/requests_summary.csv.gz": "is CSV",
    "kv-cache-tester/sessions_summary.csv": "is CSV",
    "kv-cache-tester/distinct_sessions.json": "is a JSON array",
    "kv-cache-tester/duplicate_clusters.json": "is a JSON array",
    "dynamo": "holds traces of several formats",
    "hostile": "holds traces of several formats",
    "claude-code": "holds traces of several formats",
    "dynamo/mooncake_trace_tiny.jsonl": "set chunk_tokens",
    "hostile/probe_acagent.jsonl": "applied_compute_agentic",
    "hostile/probe_agentic_cycle.jsonl": "line 1 -> line 2 -> line 1",
    "hostile/probe_agentic_unknown.jsonl": "line 2: wait_for holds 'zzz'",
    "hostile/probe_empty.jsonl": "holds no row",
    "hostile/probe_floor.jsonl": "set chunk_tokens",
    "hostile/probe_toofew.jsonl": "set chunk_tokens",
    "hostile/probe_garbage.jsonl": "line 2: not valid JSON",
    "hostile/probe_negid.jsonl": "line 1: hash_ids holds -1",
    "hostile/probe_nohash.jsonl": "line 1: hash_ids is missing",
    "hostile/probe_noinput.jsonl": "line 1: input_length is missing",
    "hostile/probe_noout.jsonl": "line 1: output_length is missing",
    "hostile/probe_nots.jsonl": "line 1: timestamp is missing",
    "hostile/probe_sess_tsback.jsonl": "line 2: timestamp = 1000 of session a lies before 2000",
}
HUGE = "kv-cache-tester/traces_710_rle.jsonl.gz"
TEXT = {".md", ".txt", ".tex", ""}
"""Suffixes of what says where a file is from."""
OF_OTHERS = {
    "kv-cache-tester": HUGE,
    "talk-like-53/sessions.json": "names",
    "talk-like-53/t53_full_lengths.csv.gz": "lengths",
    "tracelab/multi_session_large.csv": "as multi_session_example.csv",
    "tracelab/session_workload_example.csv": "as multi_session_example.csv",
}
"""What is no trace by itself, or as one above."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name.startswith("aiperf") else name for name in READ],
)
def test_figures(name: str) -> None:
    _check(READ[name], name)


@pytest.mark.slow
def test_figures_of_49_thousand_requests() -> None:
    figures = Figures("kv-cache-tester", 49_334, 773, 96.3, (42, 104, 234), 713)
    _check(figures, HUGE)


def _check(figures: Figures, name: str) -> None:
    found = look_at([SHARED_TRACES / name], "auto", [])
    assert (found.format, found.requests, found.sessions) == figures[:3]
    assert found.ideal_hit is not None
    assert round(100 * found.ideal_hit, 1) == figures.hit_percent
    if figures.prompt_k is not None:
        for percent, thousands in zip(("p10", "p50", "p90"), figures.prompt_k, strict=True):
            assert (found.lengths["prompt"][percent] or 0) / 1000 == pytest.approx(thousands, rel=0.05)
    if figures.new_p50 is not None:
        assert round(found.lengths["new"]["p50"] or 0) == figures.new_p50
    if figures.unique_m is not None:
        assert found.unique_tokens / 1e6 == pytest.approx(figures.unique_m, abs=0.05)


def test_both_identities_of_transcripts() -> None:
    made_up = look_at([SHARED_TRACES / "claude-code/projects"], "auto", ["workload.chunk_tokens=100"])
    assert made_up.prompt_tokens == 10_590
    assert made_up.kept_tokens == {"append": 7490, "provider": 4298}
    assert made_up.ideal_hit == (10_590 - 3290) / 10_590
    assert (made_up.dropped, made_up.sub_agents) == (7, 1)
    sample = look_at([SHARED_TRACES / "claude-code/tracelab_sample.jsonl"], "auto", [])
    assert sample.prompt_tokens == 418_193
    assert sample.kept_tokens is not None
    kept = {name: round(100 * tokens / 418_193, 2) for name, tokens in sample.kept_tokens.items()}
    assert kept == {"append": 88.45, "provider": 87.72}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    with pytest.raises(InputError) as refused:
        look_at([SHARED_TRACES / name], "auto", [])
    assert REFUSED[name] in str(refused.value)
    assert Path(name).name in str(refused.value)


def test_no_file_is_forgotten() -> None:
    files = [path for path in SHARED_TRACES.rglob("*") if path.is_file()]
    named = {str(path.relative_to(SHARED_TRACES)) for path in files if path.suffix not in TEXT}
    named -= {name for name in named if name.endswith(".meta.json") or "LICENSE" in name}
    assert named - {*READ, *REFUSED, *OF_OTHERS, HUGE} == set()
