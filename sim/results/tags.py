"""The numbers of requests of a kind: what the trace tags them as, such as a stage of the load.

A run whose trace has tags says of each request which one it has, in a column of the table of requests, and
has in its summary, as `by_tag`, for each tag in the order of their first requests:

- `requests`: how many there are (`total`) and how many of them were `completed`;
- `ttft_s`, `tpot_s`, `e2e_s`, `queue_s`: of these, as for all requests;
- `prompt_tokens` of those that came to their first token, and `hit_share` of them;
- `from_s`, `until_s`: when the first was sent and the last one ended, and between these times
  `requests_per_s` and `output_tokens_per_s`, of what was completed.

Requests that count in no other number, nor those without a tag, are in none of these.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.results.distribution import distribution
from sim.results.tables import TAG
from sim.results.weighted import WeightedSample

if TYPE_CHECKING:
    from sim.results.rows import Table

LATENCIES = ("ttft_s", "tpot_s", "e2e_s", "queue_s")


def mark_tags(requests: "Table", tags: Sequence[str | None]) -> None:
    """Add the column to a table; `tags` are those of its rows."""
    requests.add_column(TAG, tags)


def by_tag(requests: "Table") -> dict[str, Any]:
    """Return the numbers for each tag; none of a table without the column."""
    if not requests.has(TAG.name):
        return {}
    tags, tagged = requests.values(TAG.name)
    found = dict.fromkeys(tags[tagged][np.argsort(requests.values("index").values[tagged], kind="stable")])
    return {tag: _numbers(requests.where(tagged & (tags == tag))) for tag in found}


def _numbers(requests: "Table") -> dict[str, Any]:
    completed = requests.values("status").values == "completed"
    sent, ended = requests.values("send_s"), requests.values("end_s")
    from_s = float(sent.values[sent.measured].min()) if sent.measured.any() else None
    until_s = float(ended.values[ended.measured].max()) if ended.measured.any() else None
    took_s = until_s - from_s if from_s is not None and until_s is not None else 0.0
    answered = requests.values("first_token_s").measured
    prompts, hits = _total(requests, "counted_prompt_tokens", answered), 0
    for name in ("local_hit_tokens", "external_hit_tokens"):
        hits += _total(requests, name, answered)
    return {
        "requests": {"total": len(completed), "completed": int(completed.sum())},
        **{name: distribution(_sample(requests, name, completed)) for name in LATENCIES},
        "prompt_tokens": prompts,
        "hit_share": hits / prompts if prompts else None,
        "from_s": from_s,
        "until_s": until_s,
        "requests_per_s": int(completed.sum()) / took_s if took_s else None,
        "output_tokens_per_s": _total(requests, "output_tokens", completed) / took_s if took_s else None,
    }


def _total(requests: "Table", name: str, where: NDArray[np.bool_]) -> int:
    values, measured = requests.values(name)
    return int(values[measured & where].sum())


def _sample(requests: "Table", name: str, where: NDArray[np.bool_]) -> WeightedSample:
    values, measured = requests.values(name)
    sample = WeightedSample()
    sample.add_many(values[measured & where])
    return sample
