"""What other routing would hit of the same prompts, so that what a router achieves is seen in proportion.

A summary has `bounds` where that was asked for: the achieved `prefill.hit_share` of further runs of the same
scenario, seed and draw, whose router has another policy:

- `round-robin`: the next worker for every prompt, whoever holds it;
- `oracle`: the worker that truly holds most of the prompt at that moment. It does not look ahead, so that it
  is no bound in the strict sense: other routing may hit more.

None for one that did not come to its end. Where clients wait for answers, requests are the same in these
runs, not the times at which they are sent.
"""

from collections.abc import Mapping
from typing import Any

BOUNDS = ("round-robin", "oracle")
"""The policies, least informed first."""
NAMES = tuple(f"bounds.{policy}" for policy in BOUNDS)
"""Their numbers by dotted name."""


def bounds_of(summaries: Mapping[str, Mapping[str, Any] | None]) -> dict[str, float | None]:
    """Return the table from the summaries of runs by policy; None for a run that failed or is missing."""
    found = {policy: summaries.get(policy) for policy in BOUNDS}
    return {
        policy: summary["prefill"]["hit_share"] if summary is not None else None
        for policy, summary in found.items()
    }
