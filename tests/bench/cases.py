"""What is compared with Dynamo's replay: our scenario, and the same for the replay.

Common to all: no time in front of the engines, steps of at most 8,192 tokens and 256 requests, Dynamo's
router with its defaults. Requests leave at the trace's times, agents' a delay after the answer before them.
"""

from dataclasses import dataclass
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
