"""What one fault cost."""

from dataclasses import asdict, dataclass
from typing import Any

from sim.scenario.faults import Fault


@dataclass(slots=True)
class Toll:
    """Counts of one fault of a run; what happens to a request later on is counted where it happens."""

    fault: Fault
    until_s: float | None = None
    """When it was over, in seconds of simulated time; None: not before the run was."""
    began: bool = False
    """Whether the run lasted until it began."""
    requests_failed: int = 0
    requests_retried: int = 0
    """Requests sent to another worker, each time counted."""
    requests_cancelled: int = 0
    lost_tokens: int = 0
    """Tokens, of prompts and answers, whose KV requests had on the worker."""
    lost_blocks: int = 0
    """Blocks of the worker's GPU that held something."""
    lost_cpu_blocks: int = 0
    """Blocks of its CPU tier that did."""
    lost_event_blocks: int = 0
    """Blocks in KV events that were lost on their way, recovered later or not."""

    def count(self, outcome: str | None) -> None:
        """Note what became of a request: "failed", "retried", "cancelled", or nothing."""
        if outcome == "failed":
            self.requests_failed += 1
        elif outcome == "retried":
            self.requests_retried += 1
        elif outcome == "cancelled":
            self.requests_cancelled += 1

    def summary(self, end_s: float) -> dict[str, Any]:
        """Return it as it stands in the JSON summary; `worker` is None where it was not one of them.

        `down_s` is how long it lasted, None if it did not end before the run did, at `end_s`.
        """
        counts = asdict(self)
        del counts["fault"]
        until_s, began = counts.pop("until_s"), counts.pop("began")
        at_s = self.fault.at_s
        if until_s is not None and until_s > end_s:
            until_s = None
        return {
            "kind": self.fault.kind,
            "worker": getattr(self.fault, "worker", None),
            "at_s": at_s,
            "began": began,
            "down_s": None if until_s is None else until_s - at_s,
            **counts,
        }
