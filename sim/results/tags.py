"""The numbers of requests of a kind: what the trace tags them as, such as a stage of the load.

A run whose trace has tags says of each request which one it has, in a column of the table of requests, and
has in its summary, as `by_tag`, for each tag in the order of their first requests the numbers of a part
(`sim.results.part`), and:

- `from_s`, `until_s`: when the first was sent and the last one ended, and between these times
  `requests_per_s` and `output_tokens_per_s`, of what was completed.

Requests that count in no other number, nor those without a tag, are in none of these.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.results.part import part_numbers
from sim.results.ratio import ratio
from sim.results.request_columns import RequestColumns
from sim.results.tables import TAG

if TYPE_CHECKING:
    from sim.results.rows import Table


def mark_tags(requests: "Table", tags: Sequence[str | None]) -> None:
    """Add the column to a table; `tags` are those of its rows."""
    requests.add_column(TAG, tags)


def by_tag(requests: "Table", block_tokens: int) -> dict[str, Any]:
    """Return the numbers for each tag; none of a table without the column."""
    if not requests.has(TAG.name):
        return {}
    tags, tagged = requests.values(TAG.name)
    found = dict.fromkeys(tags[tagged][np.argsort(requests.values("index").values[tagged], kind="stable")])
    parts = {tag: RequestColumns(requests.where(tagged & (tags == tag))) for tag in found}
    return {tag: part_numbers(columns, block_tokens) | _rates(columns) for tag, columns in parts.items()}


def _rates(columns: RequestColumns) -> dict[str, Any]:
    sent, ended = columns.measured("send_s"), columns.measured("end_s")
    from_s = float(sent.min()) if sent.size else None
    until_s = float(ended.max()) if ended.size else None
    took_s = until_s - from_s if from_s is not None and until_s is not None else 0.0
    return {
        "from_s": from_s,
        "until_s": until_s,
        "requests_per_s": ratio(int(columns.completed.sum()), took_s),
        "output_tokens_per_s": ratio(columns.total("output_tokens", where=columns.completed), took_s),
    }
