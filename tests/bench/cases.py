"""What is measured: cases that Dynamo's replay has too, and those of ours alone.

Common to what both have: no time in front of the engines, steps of at most 8,192 tokens and 256 requests,
Dynamo's router with its defaults. Requests leave at the trace's times, agents' a delay after the answer
before them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison."""

    name: str
    """Also of the scenario file."""
    about: str
    peer: tuple[str, ...]
    """Arguments of Dynamo's side; others are at their defaults: 8 workers, KV router."""
    agents: bool = False
    """Replays the trace of coding agents, not the one of the command line."""

    @property
    def scenario(self) -> Path:
        """Our side."""
        return Path(__file__).with_name(f"{self.name}.toml")


CASES = {
    case.name: case
    for case in (
        Case("agg8", "8 workers, KV router, blocks of 512", ("--block", "512", "--blocks", "4096")),
        Case("agg8-b16", "8 workers, KV router, blocks of 16 and 64", ("--block", "64", "--blocks", "32768")),
        Case(
            "rr8",
            "8 workers, round robin, blocks of 512",
            ("--block", "512", "--blocks", "4096", "--router", "round_robin"),
        ),
        Case(
            "2p6d",
            "2 prefill and 6 decode workers, blocks of 512",
            ("--block", "512", "--blocks", "4096", "--prefill", "2", "--decode", "6"),
        ),
        Case(
            "agent",
            "coding agents on 8 workers, KV router, blocks of 64",
            ("--block", "64", "--blocks", "12000", "--trace-block", "64"),
            agents=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class OwnCase:
    """One measurement of ours alone: a shipped scenario, and variants of it side by side."""

    about: str
    scenario: str
    overrides: tuple[str, ...]
    """Of all variants."""
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ()})
    """What each sets besides."""
    repeat: int = 0
    """Seeds of a sweep over the lists among the overrides; 0: one run."""


_TALK = {"": (), "fast-forward off": ("engine.fast_forward=false",)}
_SWEPT = ("router.overlap_score_credit=0:2:0.25", "workload.sessions=12:28:8")
OWN_CASES = {
    "talk": (
        OwnCase("8 workers of the talk, 28 sessions, host RAM", "agg8", ("workload.sessions=28",), _TALK),
        OwnCase("2P6D of the talk, 28 sessions, host RAM", "2p6d", ("workload.sessions=28",), _TALK),
    ),
    "features": (
        OwnCase(
            "8 workers, 12 sessions: each on, beside all off",
            "agg8",
            ("offload=none",),
            {
                "": (),
                "two GPUs an engine": ("workers.tensor_parallel=2",),
                "table step law": ("timing.coefficients=qwen3.8-27b-fp8_h100-80gb-tables",),
                "answers returned": ("replay.answers=returned",),
                "router queue": ("router.queue_threshold=1",),
                "host RAM": ("offload.cpu_bytes=64GiB",),
            },
        ),
    ),
    "sweep": (OwnCase("135 runs: 9 credits x 3 session counts x 5 seeds", "agg8", _SWEPT, repeat=5),),
    "sweep-ninth": (
        OwnCase(
            "15 runs: 5 credits x 3 session counts",
            "agg8",
            ("router.overlap_score_credit=0:2:0.5", _SWEPT[1]),
            repeat=1,
        ),
    ),
}
