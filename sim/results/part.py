"""The numbers of a part of a run's requests, as of all of them: of a tag, of first or later turns.

- `requests`: how many there are (`total`) and how many of them were `completed`; the others were rejected or
  never ended, and have no latency;
- `ttft_s`, `tpot_s`, `e2e_s`, `queue_s`: of the completed ones, as for all requests;
- `prompt_tokens` of those that came to their first token, `hit_share` of them, and `ideal_hit_share`;
- `computed_tokens`, `required_tokens`, `recomputation`: see `sim.results.prefill`. Counts of parts that are
  the whole together add up to the whole's.
"""

from typing import Any

from sim.results.distribution import distribution
from sim.results.prefill import prefill
from sim.results.request_columns import RequestColumns

LATENCIES = ("ttft_s", "tpot_s", "e2e_s", "queue_s")
_PREFILL = (
    "prompt_tokens",
    "hit_share",
    "ideal_hit_share",
    "computed_tokens",
    "required_tokens",
    "recomputation",
)


def part_numbers(columns: RequestColumns, block_tokens: int) -> dict[str, Any]:
    """Return the numbers of these requests under their names in summaries, None where nothing was."""
    found = prefill(columns, block_tokens)
    return {
        "requests": {"total": len(columns.status), "completed": int(columns.completed.sum())},
        **{name: distribution(columns.sample(name)) for name in LATENCIES},
        **{name: found[name] for name in _PREFILL},
    }
