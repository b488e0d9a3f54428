"""What was measured of requests of each kind, by their tags."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.errors import escaped
from sim.show.text.page_parts import table


def tag_table(by_tag: Mapping[str, Any]) -> RenderableType:
    """Return a table with a row for each tag; nothing if there is none."""
    if not by_tag:
        return Group()
    columns = ("requests", "completed", "TTFT mean", "p50", "p90", "E2E p50", "hit", "output tokens/s")
    rows = table("Tag", *columns)
    for tag, found in by_tag.items():
        ttft = found["ttft_s"]
        rows.add_row(
            Text(escaped(tag)),
            words.count(found["requests"]["total"]),
            words.count(found["requests"]["completed"]),
            *(words.seconds(ttft[key]) for key in ("mean", "p50", "p90")),
            words.seconds(found["e2e_s"]["p50"]),
            words.percent(found["hit_share"]),
            words.number(found["output_tokens_per_s"]),
        )
    return Group(Text(), rows)
